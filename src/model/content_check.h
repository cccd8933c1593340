// Checks the numbers in a well-formed file once, when it is opened, instead of differently in every engine.
#pragma once

#include <deepgap/graph.h>

namespace deepgap {

// QuantizeLinear and DequantizeLinear: constant scales are positive, finite and no denormals (engines flush these to zero); the zero
// point has the type of the levels, the scale's shape, and is 0 for 32-bit levels. Shape inference has looked at axis and lengths before.
// Throws Error{input} naming the node.
void check_scaling(const Graph& graph);

// No NaN among the floating-point constants: whatever reads one answers NaN. Throws Error{input} naming constant and position. Constants
// without data are left alone.
void check_constants(const Graph& graph);

}  // namespace deepgap
