// LibTorch on a CUDA GPU.
#pragma once

#include <deepgap/backend.h>

namespace deepgap {

class TorchCudaBackend final : public Backend {
 public:
  TorchCudaBackend();  // throws Error{refused} where CUDA finds no GPU
  std::string name() const override { return "libtorch_cuda"; }
  std::string version() const override;
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<DeviceInfo> devices() const override { return devices_; }
  std::vector<OptionInfo> options() const override;
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override;
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override;

 private:
  std::vector<DeviceInfo> devices_;
};

}  // namespace deepgap
