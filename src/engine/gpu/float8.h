// FP8 (E4M3: 4 bits of exponent, 3 of fraction, up to 448, no infinities): which products are computed in it, and its numbers on the host.
//
// Products with constant weights, as transformers have them, take both factors in FP8: weights scaled for each output channel so that the
// largest is 448, the other factor as it is, values beyond 448 as that. Sums are FP32. Everything else is computed as for FP16, also a
// product that is the network's result, unless it reads the network's input: a network of one product, or a node that is checked alone, is
// to be in FP8.
#pragma once

#include "engine/passes/fused.h"

#include <deepgap/graph.h>

#include <cstdint>
#include <set>

namespace deepgap::gpu {

constexpr float largest_e4m3 = 448;

uint8_t to_e4m3(float value);  // the nearest, ties to even; beyond the largest that one; NaN stays so
float from_e4m3(uint8_t bits);

bool multiplies_in_float8(const Graph& graph, const Operation& operation);
// Returns values that such products alone read, so that whoever makes them may write them in FP8.
std::set<ValueId> values_in_float8(const Graph& graph);

}  // namespace deepgap::gpu
