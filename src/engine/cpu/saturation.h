// Products of 8 bits on a CPU without VNNI.
//
// oneDNN multiplies unsigned by signed bytes there with an instruction (vpmaddubsw) that sums two products in 16 bits and saturates: of two
// weights of 127 and two inputs of 255, 64,770 becomes 32,767. For signed inputs it halves the weights, which rounds them. Both are
// wrong results of a right network. Convolutions and products with constant weights have kernels of our own there (integer_tile.h). For the
// rest, a layer whose weights can lead to saturation is computed in FP32; any two weights of an output channel may meet, since which do is
// the library's matter.
#pragma once

#include <deepgap/tensor.h>

#include <cstddef>

namespace deepgap {

// `weights` of int8, whose axis `channel_axis` counts the output channels; `inputs` the type that they are multiplied with.
bool can_saturate(const Tensor& weights, size_t channel_axis, DataType inputs);

}  // namespace deepgap
