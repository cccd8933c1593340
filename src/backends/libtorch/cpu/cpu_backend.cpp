// LibTorch on the CPU: what the plug-in calls once the library is loaded.
#include "backends/common/host.h"
#include "backends/libtorch/cpu/cpu_session.h"
#include "backends/libtorch/cpu/cpu_train_session.h"
#include "backends/libtorch/decoder/torch_generate.h"
#include "backends/libtorch/torch_settings.h"

#include <deepgap/backend.h>

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

namespace deepgap {
namespace {

// "oneDNN 3.7.1", from what the library says of itself.
std::string onednn_version() {
  const std::string text = at::get_mkldnn_version();
  const size_t at = text.find(" v");
  return at == std::string::npos ? text : "oneDNN " + text.substr(at + 2, text.find(' ', at + 1) - at - 2);
}

class TorchCpuBackend final : public Backend {
 public:
  std::string name() const override { return "libtorch"; }
  std::string version() const override { return fmt::format("{}, {}, {}", TORCH_VERSION, onednn_version(), at::get_cpu_capability()); }
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<std::string> tasks() const override { return {"infer", "train", "generate"}; }
  std::vector<DeviceInfo> devices() const override { return {{DeviceId{}, cpu_name(), host_memory_bytes(), {}}}; }
  std::vector<OptionInfo> options() const override { return torch_options(false).infos(); }
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override {
    return torch_support(request, graph, name(), devices());
  }
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override {
    const TorchSettings settings = torch_options(false).parse(options.options);
    if (options.task == "generate") {
      require(supports(options, model.summary()));
      return make_torch_generate_session(name(), model, options, settings);
    }
    require(supports(options, GraphSummary{}));
    return options.task == "train" ? make_torch_cpu_train_session(model, options, settings)
                                   : make_torch_cpu_session(model, options, settings);
  }
};

}  // namespace
}  // namespace deepgap

extern "C" __attribute__((visibility("default"))) deepgap::Backend* deepgap_libtorch_engine() { return new deepgap::TorchCpuBackend; }
