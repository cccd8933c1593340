// Computes where the windows of a convolution or pool lie, axis by axis.
#pragma once

#include "engine/gpu/convolution.h"

#include <deepgap/graph.h>

#include <cstdint>
#include <span>
#include <vector>

namespace deepgap::gpu {

// Window o covers positions o * stride - before + t * dilation, t < kernel, of `in` positions; `after`: padding that the node asks for
// behind the last one, without what ceil_mode lets overhang.
struct WindowAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
};

// Reads a node's strides, dilations, pads or auto_pad. `in`, `out`, `kernel`: the spatial sizes.
std::vector<WindowAxis> window_axes(const Node& node, std::span<const int64_t> in, std::span<const int64_t> out,
                                    std::span<const int64_t> kernel);

// Returns the sizes of a convolution of rank 3 or 4 (a row is an image of one row); pitches and types are the caller's.
Convolution convolution_sizes(const Node& node, const Shape& in, const Shape& out, const Shape& weights);

}  // namespace deepgap::gpu
