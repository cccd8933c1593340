// x/2 (1 + erf(x / sqrt 2)) as exporters write it out before opset 20 becomes Gelu, which the product before it takes as a post.
#include "engine/passes/flow.h"
#include "engine/passes/passes.h"

#include <array>
#include <numbers>

namespace deepgap {
namespace {

// The x of 1 + erf(x / sqrt 2).
std::optional<ValueId> input_of_erf(const Flow& flow, ValueId id) {
  const Node* sum = flow.made_by(id, "Add");
  if (sum == nullptr) return std::nullopt;
  for (const ValueId part : sum->inputs) {
    const Node* erf = flow.made_by(part, "Erf");
    if (erf == nullptr || !is_about(number_of(flow.graph(), other_input(*sum, part)), 1)) continue;
    if (const Node* scaled = flow.made_by(erf->inputs[0], "Div"))
      return is_about(number_of(flow.graph(), scaled->inputs[1]), std::numbers::sqrt2) ? std::optional(scaled->inputs[0]) : std::nullopt;
    if (const Node* scaled = flow.made_by(erf->inputs[0], "Mul"))
      for (const ValueId factor : scaled->inputs)
        if (is_about(number_of(flow.graph(), factor), std::numbers::sqrt2 / 2)) return other_input(*scaled, factor);
  }
  return std::nullopt;
}

// The x where the three are 1/2, x and 1 + erf(x / sqrt 2), in any order.
std::optional<ValueId> gelu_of_factors(const Flow& flow, const std::array<ValueId, 3>& factors) {
  for (size_t half = 0; half < 3; ++half) {
    if (!is_about(number_of(flow.graph(), factors[half]), 0.5)) continue;
    const ValueId a = factors[(half + 1) % 3], b = factors[(half + 2) % 3];
    if (input_of_erf(flow, a) == b) return b;
    if (input_of_erf(flow, b) == a) return a;
  }
  return std::nullopt;
}

// The x where this product of three is its Gelu.
std::optional<ValueId> gelu_of(const Flow& flow, const Node& product) {
  if (product.op != "Mul" || !product.domain.empty()) return std::nullopt;
  for (const ValueId id : product.inputs) {
    const Node* inner = flow.made_by(id, "Mul");
    if (inner == nullptr) continue;
    if (const auto x = gelu_of_factors(flow, {other_input(product, id), inner->inputs[0], inner->inputs[1]})) return x;
  }
  return std::nullopt;
}

}  // namespace

void fuse_gelus(Graph& graph) { put_operator(graph, "Gelu", gelu_of); }

}  // namespace deepgap
