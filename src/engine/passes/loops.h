// Loops that data end, as nodes that hold a Graph of their own. An engine can compile the Graph once and run it until its condition ends.
#pragma once

#include "engine/passes/fusion_rules.h"

#include <deepgap/graph.h>

namespace deepgap {

// Makes each Loop that carries values, and collects none, a node Loop of domain "deepgap". Values that the body reads from the graph around
// become inputs of node and body, after those that are carried; constants become the body's. Loops whose bodies hold graphs stay as they
// are.
void close_loops(Graph& graph);

bool is_closed_loop(const Node& node);
const Graph& loop_body(const Node& closed);
size_t carried_by(const Node& closed);  // how many values go from one iteration to the next

// Gives each closed Loop whose inputs have known sizes a body with sizes that follow from them, and the results those of what is carried.
void bind_loops(Graph& graph);
// Whether all sizes in the body are known, and values keep theirs from one iteration to the next.
bool keeps_sizes(const Node& closed);

}  // namespace deepgap
