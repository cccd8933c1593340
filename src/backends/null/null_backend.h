// The null backend: no arithmetic. Its queries take scripted times on the run's Clock and fail as the options say, so that the harness, its
// statistics and its handling of failures can be tested and timed without an engine. docs/reference/engines/null.md lists the options.
#pragma once

#include <deepgap/backend.h>

namespace deepgap {

class NullBackend final : public Backend {
 public:
  std::string name() const override { return "null"; }
  std::string version() const override { return "1"; }
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<DeviceInfo> devices() const override;
  std::vector<OptionInfo> options() const override;
  std::vector<Task> tasks() const override { return {Task::infer, Task::train, Task::generate}; }
  bool computes() const override { return false; }
  // Every model, precision, task and device kind. Throws Error{usage} for an option it cannot read.
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override;
  // Throws Error{usage} for an option it cannot read, and what the script asks for: refused, out_of_memory.
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override;
};

}  // namespace deepgap
