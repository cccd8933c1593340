// The kserve backend: models on a server that speaks KServe v2 (Triton, MLServer and others), measured from outside.
// docs/reference/engines/kserve.md.
#pragma once

#include "backends/kserve/served_model.h"

#include <deepgap/backend.h>

#include <map>
#include <string>
#include <utility>

namespace deepgap {

class KserveBackend final : public Backend {
 public:
  std::string name() const override { return "kserve"; }
  std::string version() const override;  // names the client and the servers that were asked
  ModelForm form() const override { return ModelForm::remote; }
  std::vector<DeviceInfo> devices() const override { return {}; }  // those that the user names
  std::vector<OptionInfo> options() const override;
  Graph remote_model(const std::string& name, const EngineRequest& request) override;
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override;
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override;

 private:
  const ServedModel& served(const std::string& name, const EngineRequest& request);

  std::map<std::pair<DeviceId, std::string>, ServedModel> known_;  // by server, and name as the user gave it
};

}  // namespace deepgap
