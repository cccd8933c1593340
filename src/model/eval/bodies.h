// If and Loop that data decide: the evaluator runs their bodies. What known sizes decide never comes here (model/control_flow.h).
#pragma once

#include <deepgap/graph.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace deepgap {

// The outputs of a body, whose reads of values around it the caller sees to.
using RunBody = std::function<std::vector<Tensor>(const Graph& body, std::span<const Tensor> inputs)>;

// Throws Error{input} naming the node where inputs and body do not fit, and for a Loop that goes on after `most_iterations`.
std::vector<Tensor> run_bodies(const Node& node, std::span<const Tensor> inputs, const RunBody& run);

}  // namespace deepgap
