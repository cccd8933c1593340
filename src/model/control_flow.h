// If, Loop and Scan, which no engine of ours runs, become the nodes of their bodies where it is known before the network runs which they
// are.
#pragma once

#include <deepgap/graph.h>

namespace deepgap {

// Replaces If by the branch that is taken, Loop and Scan by their iterations one after the other, wherever constants and known sizes
// decide; so sizes are bound before. What is only computed to decide is folded on the way; a Graph with neither stays as it is. Values and
// nodes of a body get their node's name in front, and the iteration's number. What data decide stays as it is, and so do longer Loops and
// Scans: engines that do not run it refuse it by name. Throws Error{input} naming the node where branches or body do not fit it (in number
// or type of what goes in and comes out), for a Loop that goes on after `most_iterations`, and where all of them together take more than
// `most_work` steps (nodes and values that are gone over): Loops in Loops multiply.
inline constexpr int64_t most_iterations = 10'000;
void inline_control_flow(Graph& graph, size_t most_work = 50'000'000);

}  // namespace deepgap
