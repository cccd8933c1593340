#include "worker/saturation_note.h"

#include "base/text.h"
#include "record/fact_values.h"
#include "telemetry/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace deepgap {
namespace {

// The engines whose libraries are known to do so (docs/reference/engines/index.md). native computes such layers in FP32.
constexpr std::array<std::string_view, 2> sum_in_16_bits{"onnxruntime", "openvino"};

}  // namespace

std::string saturation_note(const std::string& backend, const DeviceId& device, Precision judged, const std::string& cpu_flags) {
  if (judged != Precision::int8 || device.kind != "cpu") return {};
  if (std::find(sum_in_16_bits.begin(), sum_in_16_bits.end(), backend) == sum_in_16_bits.end()) return {};
  const auto flags = split(cpu_flags, ' ');
  const auto has = [&](const char* flag) { return std::find(flags.begin(), flags.end(), flag) != flags.end(); };
  if (!has("avx2") || has("avx_vnni") || has("avx512_vnni")) return {};
  return fmt::format("; this CPU has no VNNI, without which {} sums INT8 products in 16 bits, which saturate", backend);
}

std::string saturation_note(const std::string& backend, const DeviceId& device, Precision judged) {
  if (judged != Precision::int8) return {};
  const Facts environment = capture_environment();
  const auto* text = fact_as<std::string>(environment, "cpu.flags");
  return text == nullptr ? std::string() : saturation_note(backend, device, judged, *text);
}

}  // namespace deepgap
