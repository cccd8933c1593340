#include "backends/libtorch/torch_operator.h"

#include "model/eval/element_types.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace deepgap {
namespace {

std::map<std::string, TorchOperator>& table() {
  static std::map<std::string, TorchOperator> operators;
  return operators;
}

template <typename T>
std::vector<T> contents(const Tensor& tensor) {
  std::vector<T> values(static_cast<size_t>(element_count(tensor.shape)));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.get(), values.size() * sizeof(T));  // the bytes may be unaligned
  return values;
}

std::string full_name(const Node& node) { return node.domain.empty() ? node.op : node.domain + "." + node.op; }

// With constant inputs the evaluator computes it before anything runs.
bool may_be_folded(const std::string& op) {
  const std::vector<std::string> evaluated = evaluated_operators();
  return op == "Size" || std::binary_search(evaluated.begin(), evaluated.end(), op);
}

}  // namespace

bool add_torch_operator(const char* name, TorchOperator function) { return table().emplace(name, function).second; }

std::vector<std::string> torch_operators() {
  std::vector<std::string> names;
  for (const auto& [name, function] : table())
    if (name.find('.') == std::string::npos) names.push_back(name);
  return names;
}

std::string torch_operator_refusal(const GraphSummary& graph) {
  for (const OperatorUse& use : graph.operators) {
    if (use.domain.empty() && (table().contains(use.op) || may_be_folded(use.op))) continue;
    return fmt::format("operator {}{}{} is not run (node '{}')", use.domain, use.domain.empty() ? "" : ".", use.op, use.first_node);
  }
  return {};
}

TorchStep make_torch_step(const TorchCall& call) {
  const auto found = table().find(full_name(call.node));
  if (found == table().end()) {
    throw Error(ErrorKind::refused, fmt::format("libtorch does not run operator {} (node '{}')", full_name(call.node), call.node.name));
  }
  return found->second(call);
}

bool TorchCall::is_constant(size_t input) const { return has(input) && constant_of(graph, node.inputs[input]) != nullptr; }

const Tensor& TorchCall::constant(size_t input) const {
  if (!is_constant(input)) refuse(fmt::format("its input {} is computed while the network runs, only a constant is taken", input));
  return *constant_of(graph, node.inputs[input]);
}

std::vector<int64_t> TorchCall::integers(size_t input) const {
  const Tensor& tensor = constant(input);
  if (tensor.type == DataType::i64) return contents<int64_t>(tensor);
  if (tensor.type != DataType::i32) refuse(fmt::format("its input {} is {}, expected integers", input, name_of(tensor.type)));
  const auto narrow = contents<int32_t>(tensor);
  return {narrow.begin(), narrow.end()};
}

double TorchCall::number(size_t input) const {
  const Tensor& tensor = constant(input);
  if (element_count(tensor.shape) != 1) refuse(fmt::format("its input {} has more than one element", input));
  double value = 0;
  with_type(tensor.type, [&]<typename T>(T element) {
    std::memcpy(&element, tensor.data.get(), sizeof(T));
    value = convert<double>(element);
  });
  return value;
}

Shape TorchCall::shape(size_t input) const {
  if (!has(input)) refuse(fmt::format("its input {} is left out", input));
  const auto& dims = graph.values[static_cast<size_t>(node.inputs[input])].dims;
  if (!dims || std::any_of(dims->begin(), dims->end(), [](const Dim& dim) { return !dim.known(); }))
    refuse(fmt::format("the shape of its input {} depends on data", input));
  return known_shape(graph, node.inputs[input]);
}

Shape TorchCall::output_shape(size_t output) const {
  const auto& dims = graph.values[static_cast<size_t>(node.outputs.at(output))].dims;
  if (!dims || std::any_of(dims->begin(), dims->end(), [](const Dim& dim) { return !dim.known(); }))
    refuse("the shape of its output depends on data");
  return known_shape(graph, node.outputs[output]);
}

DataType TorchCall::type(size_t input) const {
  if (!has(input)) refuse(fmt::format("its input {} is left out", input));
  return graph.values[static_cast<size_t>(node.inputs[input])].type;
}

bool TorchCall::is_float(size_t input) const {
  const DataType t = type(input);
  return t == DataType::f32 || t == DataType::f64 || t == DataType::f16 || t == DataType::bf16;
}

int64_t TorchCall::axis(int64_t axis, size_t rank) const {
  const auto size = static_cast<int64_t>(rank);
  if (axis < -size || axis >= size) refuse(fmt::format("axis {} of {} dimensions", axis, rank));
  return axis < 0 ? axis + size : axis;
}

int64_t TorchCall::int_of(std::string_view name, int64_t fallback) const { return attribute_int(node, name, fallback); }
double TorchCall::float_of(std::string_view name, float fallback) const { return attribute_float(node, name, fallback); }
std::vector<int64_t> TorchCall::ints_of(std::string_view name, const std::vector<int64_t>& fallback) const {
  return attribute_ints(node, name, fallback);
}
std::string TorchCall::text_of(std::string_view name, const std::string& fallback) const { return attribute_string(node, name, fallback); }

std::vector<int64_t> TorchCall::ints_or_input(std::string_view attribute, size_t input, const std::vector<int64_t>& fallback) const {
  if (node.attributes.contains(std::string(attribute))) return ints_of(attribute, fallback);
  return has(input) ? integers(input) : fallback;
}

void TorchCall::refuse(const std::string& what) const {
  throw Error(ErrorKind::refused, fmt::format("libtorch does not run operator {} (node '{}'): {}", full_name(node), node.name, what));
}

void TorchCall::expect_outputs(size_t most) const {
  for (size_t i = most; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != no_value) refuse(fmt::format("its output {} is not computed", i));
  }
}

}  // namespace deepgap
