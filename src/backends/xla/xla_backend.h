// XLA on the CPU and on NVIDIA GPUs, through plug-ins that it is packaged in (PJRT). The Graph is written as StableHLO.
#pragma once

#include "backends/xla/pjrt_client.h"
#include "backends/xla/xla_plugins.h"

#include <deepgap/backend.h>

namespace deepgap {

class XlaBackend final : public Backend {
 public:
  XlaBackend();  // throws Error{refused} where no plug-in of XLA can be used
  std::string name() const override { return "xla"; }
  std::string version() const override;
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<DeviceInfo> devices() const override;
  std::vector<OptionInfo> options() const override { return {}; }
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override;
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override;

 private:
  // A plug-in that is used, or why there is none.
  struct Plugin {
    const PjrtLibrary* library = nullptr;
    std::string name, defect;
  };
  static Plugin opened(const XlaPlugins& plugins, const std::string& kind);
  const Plugin& plugin_for(const DeviceId& device) const { return device.kind == "cuda" ? cuda_ : cpu_; }

  Plugin cpu_, cuda_;
};

}  // namespace deepgap
