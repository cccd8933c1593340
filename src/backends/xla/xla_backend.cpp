#include "backends/xla/xla_backend.h"

#include "backends/common/hidden_amx.h"
#include "backends/common/host.h"
#include "backends/common/nvidia_devices.h"
#include "backends/xla/xla_session.h"
#include "backends/xla/xla_settings.h"

#include <map>

namespace deepgap {
namespace {

// Opened once a process.
const PjrtLibrary& library_at(const std::string& path) {
  static std::map<std::string, PjrtLibrary> libraries;
  return libraries.try_emplace(path, path).first->second;
}

}  // namespace

XlaBackend::XlaBackend() : plugins_(find_xla_plugins()) {
  keep_off_hidden_amx();
  if (plugins_.cpu.empty() && plugins_.cuda.empty()) throw Error(ErrorKind::refused, missing_xla_plugin(plugins_, "cpu"));
}

std::string XlaBackend::version() const {
  std::string text;
  for (const std::string* path : {&plugins_.cpu, &plugins_.cuda})
    if (!path->empty()) text += (text.empty() ? "PJRT " : ", ") + library_at(*path).version();
  return text;
}

std::vector<DeviceInfo> XlaBackend::devices() const {
  std::vector<DeviceInfo> devices;
  if (!plugins_.cpu.empty()) devices.push_back({DeviceId{}, cpu_name(), host_memory_bytes(), {}});
  if (!plugins_.cuda.empty()) devices.insert(devices.end(), nvidia_devices().begin(), nvidia_devices().end());
  return devices;
}

Support XlaBackend::supports(const EngineRequest& request, const GraphSummary& graph) const {
  std::string refusal = xla_refusal(request, graph);
  const std::string& kind = request.placement.devices.front().kind;
  if (refusal.empty() && (kind == "cuda" ? plugins_.cuda : plugins_.cpu).empty()) refusal = missing_xla_plugin(plugins_, kind);
  return refusal.empty() ? Support{} : Support{false, "xla: " + refusal};
}

std::unique_ptr<Session> XlaBackend::load(const Model& model, const LoadOptions& options) {
  require(supports(options, GraphSummary{}));
  const bool cuda = options.placement.devices.front().kind == "cuda";
  const PjrtLibrary& library = library_at(cuda ? plugins_.cuda : plugins_.cpu);
  return cuda ? make_xla_cuda_session(library, model, options) : make_xla_session(library, model, options);
}

}  // namespace deepgap
