#include "model/eval/fold_constants.h"

#include "model/eval/evaluator.h"
#include "model/graph_tools.h"
#include "model/node_body.h"
#include "model/packed_weights.h"
#include "model/random_numbers.h"

#include <deepgap/error.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

// A fold may not blow a small file up into a large model (an Expand of a scalar).
constexpr size_t free_growth_bytes = size_t{16} << 20;

bool is_quantized_constant(const Graph& graph, const Node& node) {
  if (node.op != "DequantizeLinear" || !node.domain.empty()) return false;
  const Tensor* content = constant_of(graph, node.inputs.at(0));
  if (content != nullptr && packed_content(*content) != nullptr) return true;
  const DataType type = graph.values[static_cast<size_t>(node.inputs.at(0))].type;
  return type == DataType::i8 || type == DataType::u8;
}

bool is_random(const Node& node) { return is_random_operator(node) || node.op == "Dropout"; }

bool all_known(const std::optional<Dims>& dims) {
  return dims && std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.known(); });
}

// Shape and Size ask for a shape only, which may be known where the value is not.
std::optional<Tensor> from_shape(const Graph& graph, const Node& node) {
  const bool shape = node.op == "Shape", size = node.op == "Size";
  if (!node.domain.empty() || (!shape && !size)) return std::nullopt;
  const auto& dims = graph.values[static_cast<size_t>(node.inputs.at(0))].dims;
  if (!all_known(dims)) return std::nullopt;
  const Shape known = known_shape(graph, node.inputs[0]);
  if (size) {
    Tensor result = make_tensor(DataType::i64, {});
    writable<int64_t>(result)[0] = element_count(known);
    return result;
  }
  const auto rank = static_cast<int64_t>(known.size());
  const auto clamp = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  const int64_t begin = clamp(attribute_int(node, "start", 0)), end = std::max(begin, clamp(attribute_int(node, "end", rank)));
  Tensor result = make_tensor(DataType::i64, {end - begin});
  std::copy(known.begin() + begin, known.begin() + end, writable<int64_t>(result).begin());
  return result;
}

bool small_enough(const Graph& graph, const Node& node, std::span<const Tensor> inputs) {
  size_t allowed = free_growth_bytes;
  for (const auto& input : inputs)
    if (input.data) allowed += input.bytes();
  for (ValueId id : node.outputs) {
    if (id == no_value) continue;
    const auto& value = graph.values[static_cast<size_t>(id)];
    if (!all_known(value.dims)) continue;
    const auto elements = static_cast<size_t>(element_count(known_shape(graph, id)));
    if (elements * byte_size(value.type) > allowed) return false;
  }
  return true;
}

// A value that something reads has to be made by somebody: a node with an output more than the evaluator makes is an engine's matter.
bool makes_all(const Node& node, const std::vector<Tensor>& results) {
  for (size_t k = 0; k < node.outputs.size(); ++k)
    if (node.outputs[k] != no_value && (k >= results.size() || results[k].data == nullptr)) return false;
  return true;
}

std::optional<std::vector<Tensor>> folded(const Graph& graph, const Node& node, const std::set<std::string>& known_operators,
                                          bool keep_quantized) {
  if (auto shape = from_shape(graph, node)) return std::vector<Tensor>{*shape};
  if (!node.domain.empty() || has_body(node) || is_random(node) || !known_operators.contains(node.op) ||
      (keep_quantized && is_quantized_constant(graph, node)))
    return std::nullopt;
  std::vector<Tensor> inputs;
  for (ValueId id : node.inputs) {
    const Tensor* tensor = id == no_value ? nullptr : constant_of(graph, id);
    if (id != no_value && (tensor == nullptr || tensor->data == nullptr)) return std::nullopt;
    inputs.push_back(tensor == nullptr ? Tensor{} : *tensor);
  }
  if (!small_enough(graph, node, inputs)) return std::nullopt;
  try {
    std::vector<Tensor> results = evaluate_node(graph, node, inputs);
    if (!makes_all(node, results)) return std::nullopt;
    return results;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    return std::nullopt;  // a mode or a type that an engine may have
  }
}

void set_constant(Graph& graph, ValueId id, Tensor tensor) {
  Value& value = graph.values[static_cast<size_t>(id)];
  value.type = tensor.type;
  value.dims = Dims{};
  for (const int64_t size : tensor.shape) value.dims->push_back({size, ""});
  graph.constants[id] = std::move(tensor);
}

// Returns whether there was anything to fold.
bool fold_once(Graph& graph, const std::set<std::string>& known_operators, bool keep_quantized) {
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    const auto results = folded(graph, node, known_operators, keep_quantized);
    if (!results) {
      kept.push_back(std::move(node));
      continue;
    }
    for (size_t k = 0; k < node.outputs.size(); ++k)
      if (node.outputs[k] != no_value) set_constant(graph, node.outputs[k], (*results)[k]);
  }
  const bool any = kept.size() < graph.nodes.size();
  graph.nodes = std::move(kept);
  return any;
}

bool has_open_shapes(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return id != no_value && !all_known(graph.values[static_cast<size_t>(id)].dims); });
  });
}

}  // namespace

void fold_constants(Graph& graph, bool keep_quantized) {
  const auto names = evaluated_operators();
  const std::set<std::string> known_operators(names.begin(), names.end());
  // Inference follows integers; a size that was computed with floats it sees once that is a constant, and there is more to fold then.
  while (fold_once(graph, known_operators, keep_quantized) && has_open_shapes(graph)) infer_shapes(graph);
}

}  // namespace deepgap
