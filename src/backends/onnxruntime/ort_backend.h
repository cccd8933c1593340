// ONNX Runtime through its C interface: its CPU provider, and those for CUDA, TensorRT and OpenVINO where the library at hand brings them.
// Its library is opened when the Backend is made, so that a missing one is the reason why the plug-in does not load.
#pragma once

#include <deepgap/backend.h>

namespace deepgap {

class OrtBackend final : public Backend {
 public:
  OrtBackend();  // throws Error{refused} when the library is not there
  std::string name() const override { return "onnxruntime"; }
  std::string version() const override;
  ModelForm form() const override { return ModelForm::onnx; }
  std::vector<DeviceInfo> devices() const override;
  std::vector<OptionInfo> options() const override;
  std::vector<Task> tasks() const override { return {Task::infer, Task::generate}; }
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override;
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override;
};

}  // namespace deepgap
