// Convolutions by cuDNN, as variants of a problem (libraries.h).
#pragma once

#include "cuda/dnn_convolution.h"
#include "engine/gpu/convolution.h"

#include <memory>
#include <optional>
#include <vector>

namespace deepgap::gpu {

// Returns the problem as the library computes it; nullopt if it does not, or is not worth asking: float32 and TF32, and numbers of 16 bits
// if it does the whole of the problem.
std::optional<cuda::DnnProblem> library_convolution(const Convolution& problem);

std::vector<ConvolutionVariant> cudnn_variants(const Convolution& problem, const Chip& chip,
                                               const std::shared_ptr<const cuda::DnnLibrary>& library);

}  // namespace deepgap::gpu
