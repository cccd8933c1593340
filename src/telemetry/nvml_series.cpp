#include "telemetry/nvml_series.h"

#include <array>

namespace deepgap {
namespace {

using Api = const NvmlApi&;

NvmlReading scaled(int result, double value) { return {result, result == nvml_ok ? value : 0}; }

using Simple = std::function<int(NvmlDevice, unsigned*)>;
NvmlReading simple(const Simple& function, NvmlDevice device, double unit = 1) {
  unsigned value = 0;
  const int result = nvml_call(function, device, &value);
  return scaled(result, value * unit);
}

using Chosen = std::function<int(NvmlDevice, int, unsigned*)>;
NvmlReading chosen(const Chosen& function, NvmlDevice device, int which, double unit = 1) {
  unsigned value = 0;
  const int result = nvml_call(function, device, which, &value);
  return scaled(result, value * unit);
}

double number_of(const NvmlField& field) {
  switch (field.type) {
    case 0:
      return field.value.number;
    case 1:
      return field.value.word;
    case 4:
      return static_cast<double>(field.value.signed_big);
    case 5:
      return field.value.whole;
    default:
      return static_cast<double>(field.value.big);
  }
}

NvmlReading field(Api api, NvmlDevice device, unsigned id, double unit = 1) {
  NvmlField asked{};
  asked.id = id;
  const int result = nvml_call(api.fields, device, 1, &asked);
  if (result != nvml_ok) return {result, 0};
  return scaled(asked.result, number_of(asked) * unit);
}

NvmlReading energy(Api api, NvmlDevice device) {
  unsigned long long millijoules = 0;
  const int result = nvml_call(api.energy, device, &millijoules);
  return scaled(result, static_cast<double>(millijoules) / 1e3);
}

// Reads the power at this moment, if the driver has it; else nvmlDeviceGetPowerUsage, from Ampere on (except GA100) a mean over a second.
NvmlReading power(Api api, NvmlDevice device) {
  const NvmlReading instant = field(api, device, nvml_field_power_instant, 1e-3);
  if (instant.result == nvml_ok || instant.result == nvml_gpu_is_lost) return instant;
  return simple(api.power, device, 1e-3);
}

NvmlReading utilization(Api api, NvmlDevice device, unsigned NvmlUtilization::*part) {
  NvmlUtilization percent{};
  const int result = nvml_call(api.utilization, device, &percent);
  return scaled(result, percent.*part / 100.0);
}

NvmlReading throttle_reasons(Api api, NvmlDevice device) {
  unsigned long long bits = 0;
  const int result = nvml_call(api.throttle_reasons, device, &bits);
  return scaled(result, static_cast<double>(bits));
}

NvmlReading throttled(Api api, NvmlDevice device, int policy) {
  NvmlViolation time{};
  const int result = nvml_call(api.violation, device, policy, &time);
  return scaled(result, static_cast<double>(time.violated_ns) / 1e9);
}

NvmlReading memory_used(Api api, NvmlDevice device) {
  NvmlMemory memory{};
  const int result = nvml_call(api.memory, device, &memory);
  return scaled(result, static_cast<double>(memory.used));
}

// Since the driver was loaded ("volatile").
NvmlReading ecc(Api api, NvmlDevice device, int type) {
  unsigned long long count = 0;
  const int result = nvml_call(api.ecc_errors, device, type, 0, &count);
  return scaled(result, static_cast<double>(count));
}

NvmlReading processes(Api api, NvmlDevice device) {
  std::array<NvmlProcess, 256> list{};
  unsigned count = static_cast<unsigned>(list.size());
  const int result = nvml_call(api.processes, device, &count, list.data());
  return scaled(result, count);
}

constexpr double mhz = 1e6, kilobytes = 1e3;

constexpr std::array<NvmlRow, 21> rows{{
    {"energy", "J", true, false, energy},
    {"power", "W", false, false, power},
    {"utilization", "1", false, false, [](Api a, NvmlDevice d) { return utilization(a, d, &NvmlUtilization::gpu); }},
    {"utilization_memory", "1", false, true, [](Api a, NvmlDevice d) { return utilization(a, d, &NvmlUtilization::memory); }},
    {"clock_sm", "Hz", false, false, [](Api a, NvmlDevice d) { return chosen(a.clock, d, nvml_clock_sm, mhz); }},
    {"throttle_reasons", "bits", false, false, throttle_reasons},
    {"throttled_power", "s", true, true, [](Api a, NvmlDevice d) { return throttled(a, d, nvml_policy_power); }},
    {"throttled_thermal", "s", true, true, [](Api a, NvmlDevice d) { return throttled(a, d, nvml_policy_thermal); }},
    {"temperature", "degC", false, false, [](Api a, NvmlDevice d) { return chosen(a.temperature, d, 0); }},
    {"temperature_memory", "degC", false, true, [](Api a, NvmlDevice d) { return field(a, d, nvml_field_memory_temperature); }},
    {"clock_memory", "Hz", false, true, [](Api a, NvmlDevice d) { return chosen(a.clock, d, nvml_clock_memory, mhz); }},
    {"performance_state", "1", false, true, [](Api a, NvmlDevice d) { return simple(a.performance_state, d); }},
    {"power_limit", "W", false, true, [](Api a, NvmlDevice d) { return simple(a.power_limit, d, 1e-3); }},
    {"memory_used", "bytes", false, true, memory_used},
    {"processes", "1", false, true, processes},
    {"pcie_generation", "1", false, true, [](Api a, NvmlDevice d) { return simple(a.pcie_generation, d); }},
    {"pcie_width", "1", false, true, [](Api a, NvmlDevice d) { return simple(a.pcie_width, d); }},
    {"pcie_sent_rate", "bytes/s", false, true, [](Api a, NvmlDevice d) { return chosen(a.pcie_throughput, d, nvml_pcie_sent, kilobytes); }},
    {"pcie_received_rate", "bytes/s", false, true,
     [](Api a, NvmlDevice d) { return chosen(a.pcie_throughput, d, nvml_pcie_received, kilobytes); }},
    {"ecc_corrected", "1", true, true, [](Api a, NvmlDevice d) { return ecc(a, d, 0); }},
    {"ecc_uncorrected", "1", true, true, [](Api a, NvmlDevice d) { return ecc(a, d, 1); }},
}};

}  // namespace

std::span<const NvmlRow> nvml_rows() { return rows; }

bool tells_power_of_the_moment(const NvmlApi& api, NvmlDevice device) {
  return field(api, device, nvml_field_power_instant).result == nvml_ok;
}

}  // namespace deepgap
