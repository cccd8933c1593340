// LibTorch on a CUDA GPU: what the plug-in calls once the library is loaded.
#include "backends/libtorch/cuda/cuda_session.h"
#include "backends/libtorch/cuda/cuda_train_session.h"
#include "backends/libtorch/decoder/torch_generate.h"
#include "backends/libtorch/torch_settings.h"
#include "cuda/device_infos.h"

#include <deepgap/backend.h>

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

class TorchCudaBackend final : public Backend {
 public:
  std::string name() const override { return "libtorch_cuda"; }
  std::string version() const override {
    int cuda = 0;
    cudaRuntimeGetVersion(&cuda);
    const long cudnn = at::detail::getCUDAHooks().versionCuDNN();
    return fmt::format("{}, CUDA {}.{}, cuDNN {}.{}.{}{}", TORCH_VERSION, cuda / 1000, cuda % 1000 / 10, cudnn / 10000, cudnn / 100 % 100,
                       cudnn % 100, DEEPGAP_LIBTORCH_NOTE);
  }
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<Task> tasks() const override { return {Task::infer, Task::train, Task::generate}; }
  std::vector<DeviceInfo> devices() const override { return devices_; }
  std::vector<OptionInfo> options() const override { return torch_options(true).infos(); }
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override {
    return torch_support(request, graph, name(), devices_);
  }
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override {
    TorchSettings settings = torch_options(true).parse(options.options);
    if (options.task == Task::generate) {
      require(supports(options, model.summary()));
      return make_torch_generate_session(name(), model, options, settings);
    }
    require(supports(options, GraphSummary{}));
    settings.samples = cuda::sample_place(options);
    return options.task == Task::train ? make_torch_cuda_train_session(model, options, settings)
                                       : make_torch_cuda_session(model, options, settings);
  }

 private:
  const std::vector<DeviceInfo> devices_ = devices_for_torch();
};

}  // namespace
}  // namespace deepgap

// Throws Error{refused} where CUDA finds no GPU.
extern "C" __attribute__((visibility("default"))) deepgap::Backend* deepgap_libtorch_engine() { return new deepgap::TorchCudaBackend; }
