// deepgap's own engine as a Backend: on the CPU (FP32, BF16, INT8) and on NVIDIA's GPUs (also TF32, FP16).
#pragma once

#include <deepgap/backend.h>

namespace deepgap {

class NativeBackend : public Backend {
 public:
  std::string name() const override { return "native"; }
  std::string version() const override;
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<DeviceInfo> devices() const override;
  std::vector<OptionInfo> options() const override;
  std::vector<Task> tasks() const override { return {Task::infer, Task::generate}; }
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override;
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override;

 private:
  bool on_gpu_ = false, asks_libraries_ = false;  // what was loaded last, which decides the version reported
};

}  // namespace deepgap
