// Finds the nodes that can follow a main operator inside a fused node.
#pragma once

#include "engine/passes/fused.h"
#include "engine/passes/fusion_rules.h"

#include <deepgap/graph.h>

#include <vector>

namespace deepgap {

bool is_dense_main(const Node& node);  // Conv, ConvTranspose, Gemm, MatMul
// Returns whether a Conv computes each channel from one channel alone, with constant weights.
bool is_depthwise(const Graph& graph, const Node& node);
// Returns whether this Add or Mul of `value` with something else can follow a dense main operator.
bool is_fusable_binary(const Graph& graph, const Node& main, const Node& node, ValueId value);
// Returns whether `operand` is one number, or one per channel of `value`, which `main` makes: along axis 1, the last for Gemm and MatMul.
bool is_channel_constant(const Graph& graph, const Node& main, ValueId operand, ValueId value);
// Returns all nodes in the order in which dense ones take what follows them: from the last to the first, so that of two branches that meet
// in an addition the later one takes it and its input dies early. With rules.pointwise_takes_sum 1x1 convolutions without strides come
// first.
std::vector<size_t> order_of_taking(const Graph& graph, const FusionRules& rules);
std::vector<Node> nodes_at(const Graph& graph, const std::vector<size_t>& indices);

}  // namespace deepgap
