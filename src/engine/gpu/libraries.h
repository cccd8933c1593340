// Offers NVIDIA's libraries as variants of a problem that the tuner measures beside those of the families: products with constant weights
// by cuBLASLt (cuda/lt_product.h), convolutions and products by cuDNN (cuda/dnn_convolution.h).
//
// If a library's epilogue means the same as ours (a bias, then a residual of the result's type, then a ReLU), it does all of it; the bias
// is then rounded to the result's type, and cuBLASLt does not say what its ReLU makes of NaN. All else is ended by a kernel of ours that
// reads the library's sums: GELU, which cuBLASLt has in its tanh form alone, other activations, scales by channel, integers, TF32's rounded
// results. One way serves all of them, with our epilogue's own text, so that it computes the same as everywhere; if moving the sums costs
// too much, the tuner finds out. cuDNN makes no float32 sums out of 16 bits: it is not offered other epilogues of these.
#pragma once

#include "engine/gpu/convolution.h"

#include <memory>
#include <string>
#include <vector>

namespace deepgap::cuda {
class LtLibrary;
class DnnLibrary;
}  // namespace deepgap::cuda

namespace deepgap::gpu {

// One thread, the context current. Variants may outlive it.
class Libraries {
 public:
  // Returns the variants of each library, fastest first by its guess; none if no library does the problem, is found, or starts on this
  // device. Their names hold the library's version: "cublaslt 13.1.0 2" is the third of its guesses. Opens the libraries at the first call.
  std::vector<ConvolutionVariant> variants(const Convolution& problem, const Chip& chip);

 private:
  bool asked_ = false;
  std::shared_ptr<const cuda::LtLibrary> products_;
  std::shared_ptr<const cuda::DnnLibrary> convolutions_;
};

// Returns "cuBLASLt 13.1.0, cuDNN 9.19.0", as far as they are found; else empty.
std::string library_versions();
// Returns "cuBLASLt 13.1.0, PATH; cuDNN 9.19.0, PATH", or instead of one why there is none.
std::string library_description();

}  // namespace deepgap::gpu
