// Shared by the kernels for a network's first convolution (stem.cpp, pooled_stem.cpp): they take few channels, stored as four.
#pragma once

#include "engine/gpu/convolution.h"

#include <cstdint>

namespace deepgap::gpu {

inline constexpr int64_t stem_channels = 4;  // channels of a pixel in shared memory

// Returns how many columns of products hold the output channels; 0: there is no such number.
int stem_columns(const Convolution& problem);
// Returns whether the chip has these kernels and the shape suits them, whatever stands in Convolution::pool.
bool is_stem(const Convolution& problem, const Chip& chip);
// Returns whether it makes of the larger of two sums, scaled by numbers that are not negative, never the smaller result.
bool keeps_order(const Epilogue& epilogue);
// Returns how many pixels one copy of at most 16 bytes brings to shared memory.
int copied_pixels(const Convolution& problem);

}  // namespace deepgap::gpu
