#include "telemetry/gpu_state.h"

#include "base/throttle.h"

#include <memory>
#include <utility>

namespace deepgap {
namespace {

double clock_hz(const NvmlApi& api, NvmlDevice device, int which) {
  unsigned mhz = 0;
  return nvml_call(api.clock, device, which, &mhz) == nvml_ok ? mhz * 1e6 : 0;
}

double power_w(const NvmlApi& api, NvmlDevice device) {
  NvmlField field{};
  field.id = nvml_field_power_instant;
  if (nvml_call(api.fields, device, 1, &field) == nvml_ok && field.result == nvml_ok) return field.value.word / 1e3;
  unsigned milliwatts = 0;
  return nvml_call(api.power, device, &milliwatts) == nvml_ok ? milliwatts / 1e3 : 0;
}

}  // namespace

bool is_at_power_limit(const GpuReading& reading) {
  constexpr double near_power_limit = 0.97;  // a GPU that draws this share of its limit is at it
  const bool near = reading.power_limit_w > 0 && reading.power_w >= near_power_limit * reading.power_limit_w;
  return near || (reading.throttle_reasons & throttled_by_power) != 0;
}

GpuStateReader::GpuStateReader(const NvmlLoader& load, const CudaEnvironment& environment, int ordinal) {
  NvmlLoad library = load();
  if (!library.reason.empty() || nvml_call(library.api.init) != nvml_ok) return;
  api_ = std::move(library.api);
  for (const VisibleGpu& gpu : visible_gpus(api_, environment).gpus)
    if (gpu.ordinal == ordinal) device_ = gpu.device;
}

GpuReading GpuStateReader::read() const {
  if (device_ == nullptr) return {};
  GpuReading reading{.sm_hz = clock_hz(api_, device_, nvml_clock_sm),
                     .memory_hz = clock_hz(api_, device_, nvml_clock_memory),
                     .power_w = power_w(api_, device_)};
  unsigned milliwatts = 0;
  if (nvml_call(api_.power_limit, device_, &milliwatts) == nvml_ok) reading.power_limit_w = milliwatts / 1e3;
  unsigned long long reasons = 0;
  if (nvml_call(api_.throttle_reasons, device_, &reasons) == nvml_ok) reading.throttle_reasons = reasons;
  return reading;
}

std::vector<GpuReader> gpu_readers(const std::vector<int>& ordinals) {
  std::vector<GpuReader> readers;
  for (const int ordinal : ordinals) {
    auto reader = std::make_shared<GpuStateReader>(load_nvml, cuda_environment(), ordinal);
    readers.emplace_back([reader] { return reader->read(); });
  }
  return readers;
}

}  // namespace deepgap
