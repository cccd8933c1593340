// The openai backend: models that generate, on a server that speaks OpenAI's protocol (vLLM, llama.cpp, SGLang and others), measured from
// outside. docs/reference/engines/openai.md.
#pragma once

#include "backends/openai/questions.h"

#include <deepgap/backend.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

class OpenaiBackend final : public Backend {
 public:
  std::string name() const override { return "openai"; }
  std::string version() const override;  // names the client and the servers that were asked
  ModelForm form() const override { return ModelForm::remote; }
  std::vector<DeviceInfo> devices() const override { return {}; }  // those that the user names
  std::vector<OptionInfo> options() const override;
  std::vector<Task> tasks() const override { return {Task::generate}; }
  bool computes() const override { return false; }
  Graph remote_model(const std::string& name, const EngineRequest& request) override;
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override;
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override;

 private:
  const ServedGenerator& served(const std::string& name, const EngineRequest& request);

  std::map<std::pair<DeviceId, std::string>, ServedGenerator> known_;  // by server, and name as the user gave it
};

}  // namespace deepgap
