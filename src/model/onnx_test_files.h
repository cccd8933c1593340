// ONNX messages made by protobuf's own encoder, for the tests of the reader and the writer.
#pragma once

#include "base/temporary_folder.h"
#include "model/onnx_reader.h"

#include "onnx.pb.h"

#include <deepgap/error.h>

#include <unistd.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace deepgap {

namespace pb = deepgap_onnx;

inline pb::ValueInfoProto* describe_value(pb::ValueInfoProto* value, const std::string& name, const std::vector<int64_t>& shape,
                                          int type = 1) {
  value->set_name(name);
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  auto* dims = tensor->mutable_shape();
  for (const int64_t size : shape) {
    auto* dim = dims->add_dim();
    if (size != -1) dim->set_dim_value(size);
  }
  return value;
}

inline pb::NodeProto* add_node(pb::GraphProto* graph, const std::string& op, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs, const std::string& name = "") {
  auto* node = graph->add_node();
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  if (!name.empty()) node->set_name(name);
  return node;
}

inline pb::AttributeProto* add_attribute(pb::NodeProto* node, const std::string& name, pb::AttributeProto::AttributeType type) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

inline pb::TensorProto* add_floats(pb::GraphProto* graph, const std::string& name, const std::vector<int64_t>& shape, float value = 1) {
  auto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(pb::TensorProto::FLOAT);
  int64_t count = 1;
  for (const int64_t size : shape) {
    tensor->add_dims(size);
    count *= size;
  }
  for (int64_t i = 0; i < count; ++i) tensor->add_float_data(value);
  return tensor;
}

inline pb::ModelProto empty_model(int64_t opset = 17) {
  pb::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("test");
  return model;
}

// x [N,3,8,8] -> Conv -> Relu -> y.
inline pb::ModelProto conv_model() {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {-1, 3, 8, 8});
  describe_value(graph->add_output(), "y", {-1, 4, 8, 8});
  add_floats(graph, "w", {4, 3, 3, 3});
  add_floats(graph, "b", {4});
  auto* conv = add_node(graph, "Conv", {"x", "w", "b"}, {"c"}, "conv");
  auto* pads = add_attribute(conv, "pads", pb::AttributeProto::INTS);
  for (int i = 0; i < 4; ++i) pads->add_ints(1);
  add_node(graph, "Relu", {"c"}, {"y"}, "relu");
  return model;
}

inline Graph read_model(const pb::ModelProto& model, const std::string& folder = "", const OnnxLimits& limits = {}) {
  const std::string bytes = model.SerializeAsString();
  return parse_onnx(std::as_bytes(std::span(bytes)), "t.onnx", folder, limits);
}

// The message of the Error{input} that `work` throws; "" when it throws none.
template <typename Work>
std::string input_error(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::input ? error.what() : std::string("another kind: ") + error.what();
  }
  return "";
}

// A folder of its own, gone at the end.
class ScratchFolder {
 public:
  std::string path(const std::string& name = "") const { return name.empty() ? folder_.path() : folder_ / name; }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private:
  TemporaryFolder folder_;
};

inline ValueId value_called(const Graph& graph, const std::string& name) {
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].name == name) return static_cast<ValueId>(i);
  }
  return no_value;
}

}  // namespace deepgap
