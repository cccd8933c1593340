// Products with constant weights by cuBLASLt, as variants of a problem (libraries.h).
#pragma once

#include "cuda/lt_product.h"
#include "engine/gpu/convolution.h"

#include <memory>
#include <optional>
#include <vector>

namespace deepgap::gpu {

// The problem as the library computes it; nullopt where it is not a product, or of numbers that the library does not have.
struct LibraryProduct {
  cuda::LtProblem problem;
  bool is_whole = false;  // nothing is left to do after it; else it makes sums, float32 or int32
};
std::optional<LibraryProduct> library_product(const Convolution& problem);

std::vector<ConvolutionVariant> cublas_lt_variants(const Convolution& problem, const Chip& chip,
                                                   const std::shared_ptr<const cuda::LtLibrary>& library);

}  // namespace deepgap::gpu
