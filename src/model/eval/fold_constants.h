// Computes what can be computed before a network runs.
#pragma once

#include <deepgap/graph.h>

namespace deepgap {

// Evaluates nodes whose inputs are all constants, and Shape and Size of known shapes: with the sizes bound, the shape arithmetic of
// exported networks goes. Large results of small inputs stay nodes, and so does what the evaluator refuses.
// Infers open shapes again, since folded values may determine them.
// `keep_quantized`: DequantizeLinear of 8-bit constants stays, for engines that compute with integers.
void fold_constants(Graph& graph, bool keep_quantized = false);

}  // namespace deepgap
