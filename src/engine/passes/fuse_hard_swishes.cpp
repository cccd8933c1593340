// x clip(x + 3, 0, 6) / 6 as exporters write it out before opset 14, or x with HardSigmoid, becomes HardSwish, which the convolution before
// it takes as a post.
#include "engine/passes/flow.h"
#include "engine/passes/fused.h"
#include "engine/passes/passes.h"

namespace deepgap {
namespace {

// The y of y / 6, or of y times 1/6.
std::optional<ValueId> sixth_of(const Flow& flow, const Node& node) {
  if (!node.domain.empty()) return std::nullopt;
  if (node.op == "Div" && is_about(number_of(flow.graph(), node.inputs[1]), 6)) return node.inputs[0];
  if (node.op != "Mul") return std::nullopt;
  for (const ValueId factor : node.inputs)
    if (is_about(number_of(flow.graph(), factor), 1.0 / 6)) return other_input(node, factor);
  return std::nullopt;
}

// The x of clip(x + 3, 0, 6).
std::optional<ValueId> input_of_clip(const Flow& flow, ValueId id) {
  const Node* clip = flow.made_by(id, "Clip");
  const auto bounds = clip == nullptr ? std::nullopt : activation_of(flow.graph(), *clip);
  if (!bounds || bounds->alpha != 0 || bounds->beta != 6) return std::nullopt;
  const Node* sum = flow.made_by(clip->inputs[0], "Add");
  if (sum == nullptr) return std::nullopt;
  for (const ValueId part : sum->inputs)
    if (is_about(number_of(flow.graph(), part), 3)) return other_input(*sum, part);
  return std::nullopt;
}

// The x of clip(x + 3, 0, 6) / 6, or of the HardSigmoid that is the same.
std::optional<ValueId> input_of_gate(const Flow& flow, ValueId id) {
  if (const Node* gate = flow.made_by(id, "HardSigmoid")) {
    const auto slope = activation_of(flow.graph(), *gate);
    return slope && is_about(slope->alpha, 1.0 / 6) && is_about(slope->beta, 0.5F) ? std::optional(gate->inputs[0]) : std::nullopt;
  }
  for (const char* op : {"Div", "Mul"}) {
    const Node* scaled = flow.made_by(id, op);
    const auto clipped = scaled == nullptr ? std::nullopt : sixth_of(flow, *scaled);
    if (clipped) return input_of_clip(flow, *clipped);
  }
  return std::nullopt;
}

// The x where this product is x times gate(x).
template <typename Gate>
std::optional<ValueId> gated(const Node& product, const Gate& input_of) {
  for (const ValueId factor : product.inputs) {
    const ValueId x = other_input(product, factor);
    if (input_of(factor) == x) return x;
  }
  return std::nullopt;
}

std::optional<ValueId> hard_swish_of(const Flow& flow, const Node& node) {
  if (node.op == "Mul" && node.domain.empty())
    if (const auto x = gated(node, [&](ValueId id) { return input_of_gate(flow, id); })) return x;
  const auto scaled = sixth_of(flow, node);
  const Node* product = scaled ? flow.made_by(*scaled, "Mul") : nullptr;
  return product == nullptr ? std::nullopt : gated(*product, [&](ValueId id) { return input_of_clip(flow, id); });
}

}  // namespace

void fuse_hard_swishes(Graph& graph) { put_operator(graph, "HardSwish", hard_swish_of); }

}  // namespace deepgap
