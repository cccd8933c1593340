// Products with constant weights by cuBLASLt, as variants of a problem (libraries.h).
#pragma once

#include "cuda/lt_product.h"
#include "engine/gpu/convolution.h"

#include <memory>
#include <optional>
#include <vector>

namespace deepgap::gpu {

inline int64_t pixels_of(const Convolution& problem) { return problem.batch * problem.out_h * problem.out_w; }

// The problem as the library computes it; nullopt where it is no product, or of numbers that the library does not have.
struct LibraryProduct {
  cuda::LtProblem problem;
  bool is_whole = false;  // nothing is left to do after it; else it makes sums, float32 or int32
};
std::optional<LibraryProduct> library_product(const Convolution& problem);

std::vector<ConvolutionVariant> cublas_lt_variants(const Convolution& problem, const Chip& chip,
                                                   const std::shared_ptr<const cuda::LtLibrary>& library);

// The kernel that ends sums [pixels, out_pitch] of float32, of integers int32, that lie at role `sums`: in place where that is the target.
Launch end_sums_launch(const Convolution& problem, const Chip& chip, int sums);

}  // namespace deepgap::gpu
