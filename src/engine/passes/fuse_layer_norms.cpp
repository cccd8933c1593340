// Exporters write LayerNormalization out before opset 17: (x - mean) / sqrt(mean of squares + epsilon) * scale + bias, over the last axis.
// It becomes the operator.
#include "engine/passes/edit.h"
#include "engine/passes/flow.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"
#include "model/node_reader.h"

namespace deepgap {
namespace {

// The y whose mean over the last axis, which is kept, this is.
std::optional<ValueId> mean_of(const Flow& flow, ValueId id) {
  const Node* mean = flow.made_by(id, "ReduceMean");
  if (mean == nullptr || attribute_int(*mean, "keepdims", 1) == 0) return std::nullopt;
  const auto& dims = flow.graph().values[static_cast<size_t>(mean->inputs[0])].dims;
  const NodeReader reader{"native", flow.graph(), *mean};
  const auto axes = reader.is_open(1) ? std::vector<int64_t>() : reader.ints_or_input("axes", 1, {});
  const bool last = axes.size() == 1 && (axes[0] == -1 || (dims && axes[0] + 1 == static_cast<int64_t>(dims->size())));
  return last ? std::optional(mean->inputs[0]) : std::nullopt;
}

// The x where this is x - its mean.
std::optional<ValueId> centered_of(const Flow& flow, ValueId id) {
  const Node* difference = flow.made_by(id, "Sub");
  if (difference == nullptr || mean_of(flow, difference->inputs[1]) != difference->inputs[0]) return std::nullopt;
  return difference->inputs[0];
}

// The y where this is its square.
std::optional<ValueId> squared_of(const Flow& flow, ValueId id) {
  if (const Node* product = flow.made_by(id, "Mul"))
    return product->inputs[0] == product->inputs[1] ? std::optional(product->inputs[0]) : std::nullopt;
  const Node* power = flow.made_by(id, "Pow");
  return power != nullptr && number_of(flow.graph(), power->inputs[1]) == 2.0F ? std::optional(power->inputs[0]) : std::nullopt;
}

struct Normalized {
  ValueId x;
  float epsilon;
};

// (x - mean) / sqrt(mean of (x - mean)^2 + epsilon).
std::optional<Normalized> normalized_of(const Flow& flow, const Node& quotient) {
  if (!is_onnx_op(quotient, "Div")) return std::nullopt;
  const auto x = centered_of(flow, quotient.inputs[0]);
  const Node* root = flow.made_by(quotient.inputs[1], "Sqrt");
  const Node* sum = root == nullptr ? nullptr : flow.made_by(root->inputs[0], "Add");
  if (!x || sum == nullptr) return std::nullopt;
  for (const ValueId part : sum->inputs) {
    const auto epsilon = number_of(flow.graph(), part);
    const auto squares = mean_of(flow, other_input(*sum, part));
    const auto deviation = squares ? squared_of(flow, *squares) : std::nullopt;
    if (epsilon && deviation && centered_of(flow, *deviation) == x) return Normalized{*x, *epsilon};
  }
  return std::nullopt;
}

// The node that alone reads the value and joins it by `op` with a constant of `count` elements along the last axis; which one.
struct Joined {
  const Node* node;
  ValueId constant;
};
std::optional<Joined> joined_with(const Flow& flow, ValueId id, std::string_view op, int64_t count) {
  const Node* reader = flow.only_reader(id);
  if (reader == nullptr || !is_onnx_op(*reader, op)) return std::nullopt;
  const ValueId other = other_input(*reader, id);
  const Tensor* constant = constant_of(flow.graph(), other);
  if (constant == nullptr || constant->type != DataType::f32 || constant->shape != Shape{count}) return std::nullopt;
  return Joined{reader, other};
}

}  // namespace

void fuse_layer_norms(Graph& graph) {
  const Flow flow(graph);
  std::vector<std::pair<size_t, Node>> found;
  for (const Node& quotient : graph.nodes) {
    const auto normalized = normalized_of(flow, quotient);
    if (!normalized || quotient.outputs.at(0) == no_value) continue;
    const auto& dims = graph.values[static_cast<size_t>(quotient.outputs[0])].dims;
    if (!dims || dims->empty() || !dims->back().known()) continue;
    const auto scaled = joined_with(flow, quotient.outputs[0], "Mul", dims->back().size);
    const auto shifted = scaled ? joined_with(flow, scaled->node->outputs[0], "Add", dims->back().size) : std::nullopt;
    if (!shifted) continue;
    found.emplace_back(flow.index_of(*shifted->node), Node{shifted->node->name,
                                                           "LayerNormalization",
                                                           "",
                                                           {normalized->x, scaled->constant, shifted->constant},
                                                           shifted->node->outputs,
                                                           {{"axis", int64_t{-1}}, {"epsilon", normalized->epsilon}}});
  }
  for (auto& [index, node] : found) graph.nodes[index] = std::move(node);
  if (!found.empty()) remove_dead(graph);
}

}  // namespace deepgap
