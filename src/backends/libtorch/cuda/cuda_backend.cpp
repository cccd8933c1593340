#include "backends/libtorch/cuda/cuda_backend.h"

#include "backends/libtorch/cuda/cuda_session.h"
#include "backends/libtorch/cuda/cuda_train_session.h"
#include "backends/libtorch/torch_settings.h"
#include "cuda/device_infos.h"

#include <ATen/Context.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

namespace deepgap {
namespace {

// LibTorch's own CUDA may want a newer driver than ours.
std::vector<DeviceInfo> devices_for_torch() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess) throw Error(ErrorKind::refused, fmt::format("CUDA finds no GPU: {}", cudaGetErrorString(result)));
  return cuda::device_infos();
}

}  // namespace

TorchCudaBackend::TorchCudaBackend() : devices_(devices_for_torch()) {}

std::string TorchCudaBackend::version() const {
  int cuda = 0;
  cudaRuntimeGetVersion(&cuda);
  const long cudnn = at::detail::getCUDAHooks().versionCuDNN();
  return fmt::format("{}, CUDA {}.{}, cuDNN {}.{}.{}{}", TORCH_VERSION, cuda / 1000, cuda % 1000 / 10, cudnn / 10000, cudnn / 100 % 100,
                     cudnn % 100, DEEPGAP_LIBTORCH_NOTE);
}

std::vector<OptionInfo> TorchCudaBackend::options() const { return torch_options(true).infos(); }

Support TorchCudaBackend::supports(const EngineRequest& request, const GraphSummary& graph) const {
  return torch_support(request, graph, name(), devices_);
}

std::unique_ptr<Session> TorchCudaBackend::load(const Model& model, const LoadOptions& options) {
  if (const Support support = supports(options, GraphSummary{}); !support.ok) throw Error(ErrorKind::refused, support.reason);
  TorchSettings settings = torch_options(true).parse(options.options);
  settings.samples = cuda::sample_place(options);
  if (options.task == "train") return make_torch_cuda_train_session(model, options, settings);
  return make_torch_cuda_session(model, options, settings);
}

}  // namespace deepgap
