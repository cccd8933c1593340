#include "model/node_reader.h"

#include "base/words.h"
#include "model/eval/element_types.h"
#include "model/graph_tools.h"
#include "model/node_body.h"
#include "model/tensor_contents.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cstring>
#include <numeric>

namespace deepgap {

std::string NodeReader::operator_name() const { return node.domain.empty() ? node.op : node.domain + "." + node.op; }

const Tensor* NodeReader::content(size_t input) const {
  const Tensor* tensor = nullptr;
  if (!inputs.empty()) {
    if (input < inputs.size()) tensor = &inputs[input];
  } else if (has(input)) {
    tensor = constant_of(graph, node.inputs[input]);
  }
  return tensor == nullptr || tensor->data == nullptr ? nullptr : tensor;
}

const Tensor& NodeReader::constant(size_t input) const {
  const Tensor* tensor = content(input);
  if (tensor == nullptr) refuse(fmt::format("its input {} is computed while the network runs, only a constant is taken", input));
  return *tensor;
}

std::vector<int64_t> NodeReader::integers(size_t input) const {
  const Tensor& tensor = constant(input);
  const auto values = integer_contents(tensor);
  if (!values) fail(fmt::format("its input {} is {}, expected integers", input, name_of(tensor.type)));
  return *values;
}

double NodeReader::number(size_t input) const {
  const Tensor& tensor = constant(input);
  if (element_count(tensor.shape) != 1) refuse(fmt::format("its input {} has more than one element", input));
  double value = 0;
  with_type(tensor.type, [&]<typename T>(T element) {
    std::memcpy(&element, tensor.data.get(), sizeof(T));
    value = convert<double>(element);
  });
  return value;
}

bool NodeReader::has_shape(size_t input) const { return has(input) && is_known(graph, node.inputs[input]); }
bool NodeReader::has_output_shape() const { return is_known(graph, node.outputs.at(0)); }

Shape NodeReader::shape(size_t input) const {
  if (!has(input)) refuse(fmt::format("its input {} is left out", input));
  if (!has_shape(input)) refuse(fmt::format("the shape of its input {} depends on data", input));
  return known_shape(graph, node.inputs[input]);
}

const Dims& NodeReader::dims(ValueId id, const std::string& place) const {
  const auto& dims = graph.values[static_cast<size_t>(id)].dims;
  if (!dims) refuse(fmt::format("the rank of its {} is not known", place));
  return *dims;
}

size_t NodeReader::rank(size_t input) const {
  if (!has(input)) refuse(fmt::format("its input {} is left out", input));
  return dims(node.inputs[input], fmt::format("input {}", input)).size();
}

size_t NodeReader::output_rank() const { return dims(node.outputs.at(0), "output").size(); }

Shape NodeReader::sizes_from(size_t input, int64_t axis) const {
  Shape sizes;
  for (size_t i = static_cast<size_t>(axis); i < rank(input); ++i) {
    const Dim& dim = (*graph.values[static_cast<size_t>(node.inputs[input])].dims)[i];
    if (!dim.known()) refuse(fmt::format("the size of its input {} along axis {} depends on data", input, i));
    sizes.push_back(dim.size);
  }
  return sizes;
}

int64_t NodeReader::output_size(size_t output, int64_t axis) const {
  const Dim& dim = dims(node.outputs.at(output), "output").at(static_cast<size_t>(axis));
  if (!dim.known()) refuse(fmt::format("the size of its output {} along axis {} depends on data", output, axis));
  return dim.size;
}

Shape NodeReader::output_shape(size_t output) const {
  if (!is_known(graph, node.outputs.at(output))) refuse("the shape of its output depends on data");
  return known_shape(graph, node.outputs[output]);
}

DataType NodeReader::type(size_t input) const {
  if (!has(input)) refuse(fmt::format("its input {} is left out", input));
  return graph.values[static_cast<size_t>(node.inputs[input])].type;
}

DataType NodeReader::output_type(size_t output) const { return graph.values[static_cast<size_t>(node.outputs.at(output))].type; }

bool NodeReader::is_float(size_t input) const {
  const DataType t = type(input);
  return t == DataType::f32 || t == DataType::f64 || t == DataType::f16 || t == DataType::bf16;
}

int64_t NodeReader::axis(int64_t axis, size_t rank) const {
  const auto size = static_cast<int64_t>(rank);
  if (axis < -size || axis >= size) fail(fmt::format("axis {} does not fit rank {}", axis, rank));
  return axis < 0 ? axis + size : axis;
}

size_t NodeReader::axis_of(std::string_view name, int64_t fallback, size_t rank) const {
  return static_cast<size_t>(axis(int_of(name, fallback), rank));
}

int64_t NodeReader::int_of(std::string_view name, int64_t fallback) const { return attribute_int(node, name, fallback); }
double NodeReader::float_of(std::string_view name, float fallback) const { return attribute_float(node, name, fallback); }
std::vector<int64_t> NodeReader::ints_of(std::string_view name, const std::vector<int64_t>& fallback) const {
  return attribute_ints(node, name, fallback);
}
std::string NodeReader::text_of(std::string_view name, const std::string& fallback) const { return attribute_string(node, name, fallback); }

std::vector<int64_t> NodeReader::ints_or_input(std::string_view attribute, size_t input, const std::vector<int64_t>& fallback) const {
  if (node.attributes.contains(std::string(attribute))) return ints_of(attribute, fallback);
  return has(input) ? integers(input) : fallback;
}

// `what` may quote an attribute.
void NodeReader::fail(const std::string& what) const { fail_node(node, printable(what)); }

// Shape inference has no engine that could refuse: what it cannot read contradicts itself.
void NodeReader::refuse(const std::string& what) const {
  if (engine == nullptr) fail(what);
  throw Error(ErrorKind::refused,
              fmt::format("{} does not run operator {} (node '{}'): {}", engine, operator_name(), node.name, printable(what)));
}

void NodeReader::expect_outputs(size_t most) const {
  for (size_t i = most; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != no_value) refuse(fmt::format("its output {} is not computed", i));
  }
}

std::vector<int64_t> reduced_axes(const NodeReader& reader, size_t rank) {
  std::vector<int64_t> axes = reader.ints_or_input("axes", 1, {});
  if (axes.empty() && reader.int_of("noop_with_empty_axes", 0) == 0) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t& axis : axes) axis = reader.axis(axis, rank);
  return axes;
}

}  // namespace deepgap
