// What NVIDIA's libraries do of a problem, as variants that the tuner measures beside those of the families: products with constant
// weights by cuBLASLt (cuda/lt_product.h).
//
// Where the library's epilogue means the same as ours (a bias, then a residual of the result's type, then a ReLU), it does all of it; the
// bias is then rounded to the result's type, and what its ReLU makes of NaN the library does not say. All else is ended by a kernel of ours
// that reads the library's sums: GELU, which the library has in its tanh form alone, other activations, scales by channel, integers, TF32's
// rounded results. One way for all of them, with our epilogue's own text, so that what it computes is the same as everywhere; where moving
// the sums costs too much, the tuner finds out.
#pragma once

#include "engine/gpu/convolution.h"

#include <memory>
#include <string>
#include <vector>

namespace deepgap::cuda {
class LtLibrary;
}

namespace deepgap::gpu {

// One thread, the context current. Variants may outlive it.
class Libraries {
 public:
  // The likeliest to be quick first; none where no library does the problem, is found, or starts on this device. Their names hold the
  // library's version: "cublaslt 13.1.0 2" is the third of its guesses. Opens the libraries at the first call.
  std::vector<ConvolutionVariant> variants(const Convolution& problem, const Chip& chip);

 private:
  bool asked_ = false;
  std::shared_ptr<const cuda::LtLibrary> products_;
};

// "cuBLASLt 13.1.0"; empty where it is not found.
std::string library_versions();

}  // namespace deepgap::gpu
