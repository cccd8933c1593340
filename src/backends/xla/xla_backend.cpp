#include "backends/xla/xla_backend.h"

#include "backends/common/hidden_amx.h"
#include "backends/common/host.h"
#include "backends/common/nvidia_devices.h"
#include "backends/xla/xla_session.h"
#include "backends/xla/xla_settings.h"

#include <fmt/format.h>

#include <map>

namespace deepgap {

// Each is opened once a process.
XlaBackend::Plugin XlaBackend::opened(const XlaPlugins& plugins, const std::string& kind) {
  static std::map<std::string, PjrtLibrary> libraries;
  const std::string& path = kind == "cuda" ? plugins.cuda : plugins.cpu;
  if (path.empty()) return {nullptr, "", missing_xla_plugin(plugins, kind)};
  try {
    const PjrtLibrary& library = libraries.try_emplace(path, path).first->second;
    return {&library, fmt::format("{} (PJRT {})", xla_package_of(path), library.version()), ""};
  } catch (const Error& defect) {
    return {nullptr, "", defect.what()};
  }
}

XlaBackend::XlaBackend() {
  keep_off_hidden_amx();
  const XlaPlugins plugins = find_xla_plugins();
  cpu_ = opened(plugins, "cpu");
  cuda_ = opened(plugins, "cuda");
  if (cpu_.library == nullptr && cuda_.library == nullptr)
    throw Error(ErrorKind::refused, plugins.cpu.empty() && !plugins.cuda.empty() ? cuda_.defect : cpu_.defect);
}

std::string XlaBackend::version() const {
  const char* between = cpu_.name.empty() || cuda_.name.empty() ? "" : ", ";
  return cpu_.name + between + cuda_.name;
}

std::vector<DeviceInfo> XlaBackend::devices() const {
  std::vector<DeviceInfo> devices;
  if (cpu_.library != nullptr) devices.push_back({DeviceId{}, cpu_name(), host_memory_bytes(), {}});
  if (cuda_.library != nullptr) devices.insert(devices.end(), nvidia_devices().begin(), nvidia_devices().end());
  return devices;
}

Support XlaBackend::supports(const EngineRequest& request, const GraphSummary& graph) const {
  std::string refusal = xla_refusal(request, graph);
  if (refusal.empty()) refusal = plugin_for(request.placement.devices.front()).defect;
  return refusal.empty() ? Support{} : Support{false, "xla: " + refusal};
}

std::unique_ptr<Session> XlaBackend::load(const Model& model, const LoadOptions& options) {
  require(supports(options, GraphSummary{}));
  const DeviceId& device = options.placement.devices.front();
  const PjrtLibrary& library = *plugin_for(device).library;
  return device.kind == "cuda" ? make_xla_cuda_session(library, model, options) : make_xla_session(library, model, options);
}

}  // namespace deepgap
