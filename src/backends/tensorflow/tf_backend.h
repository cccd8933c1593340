// TensorFlow on the CPU, through its C interface. A build of the library for CUDA computes on its GPUs by the same calls, which has not
// been tried: its GPUs are not offered.
#pragma once

#include <deepgap/backend.h>

namespace deepgap {

class TfBackend final : public Backend {
 public:
  TfBackend();  // throws Error{refused} where the library is not there or cannot be used
  std::string name() const override { return "tensorflow"; }
  std::string version() const override;
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<Task> tasks() const override { return {Task::infer, Task::train}; }
  std::vector<DeviceInfo> devices() const override;
  std::vector<OptionInfo> options() const override;
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override;
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override;
};

}  // namespace deepgap
