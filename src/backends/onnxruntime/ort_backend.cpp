#include "backends/onnxruntime/ort_backend.h"

#include "backends/common/host.h"
#include "backends/generate/decoder_refusals.h"
#include "backends/onnxruntime/ort_generate.h"
#include "backends/onnxruntime/ort_providers.h"
#include "backends/onnxruntime/ort_session.h"
#include "backends/onnxruntime/ort_settings.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

// Returns why it cannot run on this device with this provider; empty when it can.
std::string device_refusal(const DeviceId& device, OrtProvider provider) {
  const bool gpu = provider == OrtProvider::cuda || provider == OrtProvider::tensorrt;
  if (device.kind != "cpu" && device.kind != "cuda") return fmt::format("device {} is not supported, only cpu and cuda", device.kind);
  if (gpu != (device.kind == "cuda"))
    return fmt::format("the {} provider does not run on device {}", ort_provider_name(provider), device.kind);
  if (const std::string defect = ort_provider_defect(provider); !defect.empty()) {
    return fmt::format("the {} provider is not available: {}", ort_provider_name(provider), defect);
  }
  if (gpu && device.index >= static_cast<int>(ort_gpu_devices().size())) {
    return fmt::format("there is no device cuda:{}, {} are here", device.index, ort_gpu_devices().size());
  }
  return "";
}

}  // namespace

OrtBackend::OrtBackend() { OrtLibrary::instance(); }

std::string OrtBackend::version() const { return OrtLibrary::instance().version(); }

std::vector<DeviceInfo> OrtBackend::devices() const {
  std::vector<DeviceInfo> devices{{DeviceId{}, cpu_name(), host_memory_bytes(), ort_provider_states()}};
  const std::vector<DeviceInfo> gpus = ort_gpu_devices();
  devices.insert(devices.end(), gpus.begin(), gpus.end());
  return devices;
}

std::vector<OptionInfo> OrtBackend::options() const { return ort_options().infos(); }

Support OrtBackend::supports(const EngineRequest& request, const GraphSummary& graph) const {
  const OrtSettings settings = ort_settings(request);  // throws for values that cannot be read
  require_generation("onnxruntime", settings.generation, request.task);
  const auto no = [](const std::string& reason) { return Support{false, "onnxruntime: " + reason}; };
  const bool generates = request.task == Task::generate;
  if (const std::string refusal = generates ? onnx_decoder_refusal(graph) : ""; !refusal.empty()) return no(refusal);
  if (request.placement.processes != 1 || request.placement.devices.size() != 1) return no("one process and one device only");
  const DeviceId& device = request.placement.devices.front();
  const OrtProvider provider = ort_provider(settings, device);
  if (const std::string refusal = device_refusal(device, provider); !refusal.empty()) return no(refusal);
  if (const std::string refusal = ort_precision_refusal(provider, request.precision, graph); !refusal.empty()) return no(refusal);
  if (generates && provider != OrtProvider::cpu) return no("task generate runs on the cpu provider alone");
  if (device.kind != "cpu" && request.inputs != InputPlace::host) return no("each query copies its samples to the GPU: inputs=host");
  return {};
}

std::unique_ptr<Session> OrtBackend::load(const Model& model, const LoadOptions& options) {
  require(supports(options, model.summary()));
  if (options.task == Task::generate) return make_ort_generate_session(model, options, ort_settings(options));
  return make_ort_session(model, options, ort_settings(options));
}

}  // namespace deepgap
