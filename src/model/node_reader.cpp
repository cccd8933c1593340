#include "model/node_reader.h"

#include "model/eval/element_types.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

template <typename T>
std::vector<T> contents(const Tensor& tensor) {
  std::vector<T> values(static_cast<size_t>(element_count(tensor.shape)));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.get(), values.size() * sizeof(T));  // the bytes may be unaligned
  return values;
}

}  // namespace

std::string NodeReader::operator_name() const { return node.domain.empty() ? node.op : node.domain + "." + node.op; }

bool NodeReader::is_constant(size_t input) const { return has(input) && constant_of(graph, node.inputs[input]) != nullptr; }

const Tensor& NodeReader::constant(size_t input) const {
  if (!is_constant(input)) refuse(fmt::format("its input {} is computed while the network runs, only a constant is taken", input));
  return *constant_of(graph, node.inputs[input]);
}

std::vector<int64_t> NodeReader::integers(size_t input) const {
  const Tensor& tensor = constant(input);
  if (tensor.type == DataType::i64) return contents<int64_t>(tensor);
  if (tensor.type != DataType::i32) refuse(fmt::format("its input {} is {}, expected integers", input, name_of(tensor.type)));
  const auto narrow = contents<int32_t>(tensor);
  return {narrow.begin(), narrow.end()};
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
  if (axis < -size || axis >= size) refuse(fmt::format("axis {} of {} dimensions", axis, rank));
  return axis < 0 ? axis + size : axis;
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

void NodeReader::refuse(const std::string& what) const {
  throw Error(ErrorKind::refused, fmt::format("{} does not run operator {} (node '{}'): {}", engine, operator_name(), node.name, what));
}

void NodeReader::expect_outputs(size_t most) const {
  for (size_t i = most; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != no_value) refuse(fmt::format("its output {} is not computed", i));
  }
}

}  // namespace deepgap
