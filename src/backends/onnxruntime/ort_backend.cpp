#include "backends/onnxruntime/ort_backend.h"

#include "backends/common/host.h"
#include "backends/onnxruntime/ort_providers.h"
#include "backends/onnxruntime/ort_session.h"
#include "backends/onnxruntime/ort_settings.h"

#include <deepgap/own_options.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

// Why not on this device with this provider; empty when it can.
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

std::vector<OptionInfo> OrtBackend::options() const { return ort_option_infos(); }

Support OrtBackend::supports(const Point& point, const GraphSummary& graph) const {
  // Throws for values that cannot be read.
  const OrtSettings settings = parse_ort_settings(own_options(point, name()), std::max(point.threads, 1));
  const auto no = [](const std::string& reason) { return Support{false, "onnxruntime: " + reason}; };
  if (point.task != "infer") return no(fmt::format("task {} is not supported, only infer", point.task));
  if (point.placement.processes != 1 || point.placement.devices.size() != 1) return no("one process and one device only");
  const DeviceId& device = point.placement.devices.front();
  const OrtProvider provider = ort_provider(settings, device);
  if (const std::string refusal = device_refusal(device, provider); !refusal.empty()) return no(refusal);
  if (const std::string refusal = ort_precision_refusal(provider, point.precision, graph); !refusal.empty()) return no(refusal);
  return {};
}

std::unique_ptr<Session> OrtBackend::load(const Model& model, const LoadOptions& options) {
  const OrtSettings settings = parse_ort_settings(options.options, options.threads);
  Point point;
  point.task = options.task;
  point.precision = options.precision;
  point.placement = options.placement;
  for (const auto& [option, value] : options.options) point.options[name() + "." + option] = value;
  if (const Support support = supports(point, model.summary()); !support.ok) throw Error(ErrorKind::refused, support.reason);
  return make_ort_session(model, options, settings);
}

}  // namespace deepgap
