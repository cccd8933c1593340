#include "backends/libtorch/cuda/cuda_call.h"

#include "backends/libtorch/torch_failure.h"

#include <stdexcept>
#include <string>

namespace deepgap {

void check_cuda(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw torch_error(std::runtime_error(std::string("CUDA error: ") + cudaGetErrorString(result)), what);
}

}  // namespace deepgap
