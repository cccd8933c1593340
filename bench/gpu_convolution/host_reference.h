// A convolution by loops over doubles on the host, for problems small enough.
#pragma once

#include "problems.h"

#include <cstddef>
#include <vector>

namespace deepgap::bench {

// Buffers as they lie on the device; the result before it is rounded to the target's numbers, [pixels, out_channels].
std::vector<double> convolved(const NamedProblem& named, const std::vector<std::byte>& source, const Tensor& weights,
                              const std::vector<float>& scale_bias, const std::vector<std::byte>& residual);
double element(const std::vector<std::byte>& bytes, int64_t index, gpu::Element element);
// Returns the value as the target stores it: saturated and rounded if it holds integers.
double stored(const gpu::Epilogue& epilogue, double value);

}  // namespace deepgap::bench
