// Converts a network of 16-bit floats to one where nothing is rounded between its operators: the reference of such a file. Rounding after
// each operator, as the file's types would have it, is one of many ways to compute it, and overflows where engines with wider sums do not.
#pragma once

#include <deepgap/graph.h>

#include <optional>

namespace deepgap {

// Returns whether any value, also one in a body, is a 16-bit float.
bool has_short_floats(const Graph& graph);
// The same with float32 in place of float16 and bfloat16: values, constants, attributes that name a type, bodies. Values keep their ids.
// nullopt where nothing has 16 bits, or an operator reads such numbers as bits.
std::optional<Graph> widened_graph(const Graph& graph);

}  // namespace deepgap
