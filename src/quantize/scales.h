// Ranges to scales and zero points, and weights to signed 8-bit integers with a scale per output channel.
#pragma once

#include "quantize/range.h"

#include <deepgap/graph.h>
#include <deepgap/tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// The scale of one activation tensor: real = scale * (level - zero_point).
struct ActivationScale {
  float scale = 1;
  int32_t zero_point = 0;
  DataType type = DataType::u8;
};

// activations "u8": zero point 0 for ranges that begin at 0, else 128 and symmetric, which an engine may take as signed without a zero
// point. "s8": zero point 0. The scale is rounded down where the upper end of the levels would pass `high` by rounding alone, so that an
// engine sees that a Clip at `high` is cutting nothing any more.
ActivationScale activation_scale(const Range& range, const std::string& activations);
// Converts to levels and back, as an engine rounds: to the nearest, ties to even.
float through_levels(float value, const ActivationScale& scale);

struct QuantizedWeights {
  Tensor levels;              // i8, the shape of the weights
  std::vector<float> scales;  // one per output channel
  Tensor bias;                // i32, one per output channel; no data where there is none
};

// Symmetric: the largest magnitude of a channel is 127. A channel whose bias would not fit into 32 bits at scale input_scale * scale gets a
// larger scale; one of zeros gets the scale its bias needs. Throws Error{input} naming `node` for weights that are NaN or infinite.
QuantizedWeights quantize_weights(const Tensor& weights, const Tensor* bias, int64_t axis, float input_scale, const std::string& node);

}  // namespace deepgap
