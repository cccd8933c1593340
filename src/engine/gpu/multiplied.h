// Finds the values that products with constant factors multiply. TF32's tensor cores cut off what does not fit: with all errors of one
// sign, deep networks lose what a step of rounding to the nearest keeps, so whoever makes such a value rounds it.
#pragma once

#include <deepgap/graph.h>

#include <set>

namespace deepgap::gpu {

// Returns values read by a Conv that is not depthwise, ConvTranspose, or a Gemm or MatMul with a constant, themselves or once they are
// moved; not the Graph's outputs.
std::set<ValueId> multiplied_values(const Graph& graph);

}  // namespace deepgap::gpu
