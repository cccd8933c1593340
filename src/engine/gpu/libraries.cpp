#include "engine/gpu/libraries.h"

#include "cuda/lt_product.h"
#include "engine/gpu/library_products.h"

#include <deepgap/error.h>

namespace deepgap::gpu {
namespace {

// nullptr where it is missing, too old, or for another driver: own kernels do without it. Memory and the device are another matter.
std::shared_ptr<const cuda::LtLibrary> started() {
  try {
    return std::make_shared<const cuda::LtLibrary>();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::device_lost) throw;
    return nullptr;
  }
}

}  // namespace

std::vector<ConvolutionVariant> Libraries::variants(const Convolution& problem, const Chip& chip) {
  if (!asked_) products_ = started();
  asked_ = true;
  return products_ == nullptr ? std::vector<ConvolutionVariant>{} : cublas_lt_variants(problem, chip, products_);
}

std::string library_versions() {
  try {
    return "cuBLASLt " + cuda::cublas_lt().version();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace deepgap::gpu
