// LibTorch on the CPU as a Backend.
#pragma once

#include <deepgap/backend.h>

#include <memory>
#include <string>
#include <vector>

namespace deepgap {

class TorchCpuBackend final : public Backend {
 public:
  std::string name() const override { return "libtorch"; }
  std::string version() const override;
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<Task> tasks() const override { return {Task::infer, Task::train, Task::generate}; }
  std::vector<DeviceInfo> devices() const override;
  std::vector<OptionInfo> options() const override;
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override;
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override;
};

}  // namespace deepgap
