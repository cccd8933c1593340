#include "backends/libtorch/cpu/cpu_backend.h"

#include "backends/common/host.h"
#include "backends/libtorch/cpu/cpu_session.h"
#include "backends/libtorch/cpu/cpu_train_session.h"
#include "backends/libtorch/decoder/torch_generate.h"
#include "backends/libtorch/torch_settings.h"

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

}  // namespace

std::string TorchCpuBackend::version() const {
  return fmt::format("{}, {}, {}", TORCH_VERSION, onednn_version(), at::get_cpu_capability());
}

std::vector<DeviceInfo> TorchCpuBackend::devices() const { return {{DeviceId{}, cpu_name(), host_memory_bytes(), {}}}; }

std::vector<OptionInfo> TorchCpuBackend::options() const { return torch_options(false).infos(); }

Support TorchCpuBackend::supports(const EngineRequest& request, const GraphSummary& graph) const {
  return torch_support(request, graph, name(), devices());
}

std::unique_ptr<Session> TorchCpuBackend::load(const Model& model, const LoadOptions& options) {
  const TorchSettings settings = torch_options(false).parse(options.options);
  const bool generates = options.task == Task::generate;
  require(supports(options, generates ? model.summary() : GraphSummary{}));
  if (generates) return make_torch_generate_session(name(), model, options, settings);
  return options.task == Task::train ? make_torch_cpu_train_session(model, options, settings)
                                     : make_torch_cpu_session(model, options, settings);
}

}  // namespace deepgap
