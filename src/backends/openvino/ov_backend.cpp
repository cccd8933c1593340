#include "backends/openvino/ov_backend.h"

#include "backends/common/host.h"
#include "backends/common/quantized_file.h"
#include "backends/generate/decoder_refusals.h"
#include "backends/openvino/ov_failure.h"
#include "backends/openvino/ov_generate.h"
#include "backends/openvino/ov_library.h"
#include "backends/openvino/ov_session.h"
#include "backends/openvino/ov_settings.h"
#include "base/cpu.h"

#include <fmt/format.h>
#include <openvino/core/version.hpp>

#include <algorithm>

namespace deepgap {
namespace {

// Returns why it cannot run in this precision; empty when it can.
std::string precision_refusal(Precision precision, const GraphSummary& graph) {
  if (precision != Precision::fp32 && precision != Precision::bf16 && precision != Precision::int8) {
    return fmt::format("precision {} is not supported, only fp32, bf16, and int8 for quantized files", name_of(precision));
  }
  if (std::string refusal = quantization_refusal(precision, graph); !refusal.empty()) return refusal;
  if (precision == Precision::bf16 && !ov_cpu_can("BF16"))
    return fmt::format("precision bf16 is not in the hardware of this CPU, {}", ov_cpu_name());
  return "";
}

}  // namespace

OvBackend::OvBackend() {
  try {
    ov_cpu_name();
  } catch (const std::exception& failure) {
    throw Error(ErrorKind::refused, fmt::format("OpenVINO {} has no CPU device: {}", version(), ov_words(failure.what())));
  }
}

// "2026.4.1-22982-e213a147257-releases/2026/4": the branch says nothing more.
std::string OvBackend::version() const {
  const std::string build = ov::get_openvino_version().buildNumber;
  return build.substr(0, build.find("-releases/")) + (amx_tiles_are_hidden() ? ", without AMX" : "");
}

std::vector<DeviceInfo> OvBackend::devices() const { return {{DeviceId{}, ov_cpu_name(), host_memory_bytes(), {}}}; }

std::vector<OptionInfo> OvBackend::options() const { return ov_options().infos(); }

Support OvBackend::supports(const EngineRequest& request, const GraphSummary& graph) const {
  require_generation("openvino", ov_settings(request).generation, request.task);
  const auto no = [](const std::string& reason) { return Support{false, "openvino: " + reason}; };
  const bool generates = request.task == Task::generate;
  if (const std::string refusal = generates ? onnx_decoder_refusal(graph) : ""; !refusal.empty()) return no(refusal);
  if (request.placement.processes != 1 || request.placement.devices.size() != 1) return no("one process and one device only");
  const DeviceId& device = request.placement.devices.front();
  if (device.kind != "cpu") return no(fmt::format("device {} is not supported, only the CPU", device.kind));
  if (std::string refusal = precision_refusal(request.precision, graph); !refusal.empty()) return no(refusal);
  return {};
}

std::unique_ptr<Session> OvBackend::load(const Model& model, const LoadOptions& options) {
  require(supports(options, model.summary()));
  if (options.task == Task::generate) return make_ov_generate_session(model, options, ov_settings(options));
  return make_ov_session(model, options, ov_settings(options));
}

}  // namespace deepgap
