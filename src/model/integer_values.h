// Infers from the nodes that read it what an integer input may hold: for seeded samples, and for seeded weights that are balanced on them.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <map>
#include <string>

namespace deepgap {

// Each input holds whole numbers from 0 up to this one, which is not among them. Where it holds indices (Gather and the like, also through
// a Cast, a Reshape or a constant that is added) of whatever type, as many as the shortest axis that it points into has. Other int32 and
// int64 inputs are masks: 2. Others are not named.
std::map<std::string, int64_t> integer_values(const Graph& graph);

}  // namespace deepgap
