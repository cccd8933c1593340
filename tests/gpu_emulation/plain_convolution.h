// A convolution as convolution.h defines it, in double precision.
#pragma once

#include "engine/gpu/convolution.h"

#include <functional>
#include <span>

namespace deepgap::gpu {

// The steps of an epilogue.
using HostEpilogue = std::function<float(float v, float residual)>;

// Buffers as the families' kernels have them; `weights`, `scale_bias`: as Choice has them. `residual` may be null. Padding becomes 0.
void convolve(const Convolution& problem, const Tensor& weights, std::span<const float> scale_bias, const HostEpilogue& epilogue,
              const std::byte* source, const std::byte* residual, std::byte* target);

// Numbers in memory, whatever their type.
double number_at(const std::byte* at, Element element, int64_t index);

}  // namespace deepgap::gpu
