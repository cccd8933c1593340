// OpenVINO on the CPU, through its C++ interface. Only the CPU: what it says of other devices has not been tried.
#pragma once

#include <deepgap/backend.h>

namespace deepgap {

class OvBackend final : public Backend {
 public:
  OvBackend();  // throws Error{refused} when the library has no CPU device
  std::string name() const override { return "openvino"; }
  std::string version() const override;  // with its build number: "2026.4.1-22982-e213a147257"; and what of the CPU it must not use
  ModelForm form() const override { return ModelForm::onnx; }
  std::vector<DeviceInfo> devices() const override;
  std::vector<OptionInfo> options() const override;
  std::vector<Task> tasks() const override { return {Task::infer, Task::generate}; }
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override;
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override;
};

}  // namespace deepgap
