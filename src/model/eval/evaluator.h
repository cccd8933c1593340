// The plainest way to run a Graph: one operator after the other as the ONNX specification words it, in the Graph's own types (16-bit floats
// through FP32). It makes the reference that every engine is checked against, folds constants, and sets the statistics of seeded weights;
// so it must be right first, and give the same bits on every machine: sums run in a fixed order with fused multiply-add, never through a
// library. Exempt is what the C library computes, such as Exp, Erf, Pow and Softmax (see eval_unary.cpp), which no statistics go through.
// It uses all CPUs that the process may run on (parallel.h says how to limit that); calls from several threads do not disturb each other.
#pragma once

#include <deepgap/graph.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// Operators it has, sorted, besides If and Loop. One function per operator, registered by name (eval_*.cpp).
std::vector<std::string> evaluated_operators();

// The outputs of one node; `inputs[i]` has data == nullptr where an optional input is left out. Throws Error{refused} naming operator
// and node for one it does not have.
std::vector<Tensor> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs);

// If and Loop: evaluate() runs their bodies, evaluate_node() does not.
bool evaluates_bodies(const Node& node);

// Called with each value as it is made; may replace nothing. For node-by-node comparison and calibration.
using Observer = std::function<void(ValueId, const Tensor&)>;

// Runs the whole Graph on `inputs` (in the Graph's order, any batch). Values are freed after their last use.
std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs, const Observer& observer = {});

}  // namespace deepgap
