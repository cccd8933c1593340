// The part of NVIDIA's management library (NVML) that deepgap uses, as a table of functions: opened at run time, so that nothing of NVIDIA
// is needed to build and a machine without a driver says so; tests fill the table themselves.
//
// The declarations follow NVML's public reference (docs.nvidia.com/deploy/nvml-api), whose ABI only grows: a changed function gets a new
// name (_v2, _v3). A function that the library does not have is an empty entry and answers `function_not_found`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace deepgap {

using NvmlDevice = void*;  // opaque

enum NvmlResult : int {
  nvml_ok = 0,
  nvml_not_supported = 3,
  nvml_no_permission = 4,
  nvml_not_found = 6,
  nvml_driver_not_loaded = 9,
  nvml_function_not_found = 13,
  nvml_gpu_is_lost = 15,
  nvml_version_mismatch = 18,
};
// "the driver's library does not offer it", ...; the number for codes that need no words.
std::string nvml_words(int result);

struct NvmlUtilization {
  unsigned gpu, memory;  // per cent of the last sample period
};
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlViolation {
  unsigned long long reference_us, violated_ns;
};
struct NvmlPci {
  std::array<char, 16> legacy_id;
  unsigned domain, bus, device, device_id, subsystem_id;
  std::array<char, 32> bus_id;  // "00000000:1B:00.0"
};
struct NvmlProcess {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
};
union NvmlValue {
  double number;
  int whole;
  unsigned word;
  unsigned long long big;
  long long signed_big;
};
struct NvmlField {
  unsigned id, scope;
  long long timestamp_us, latency_us;
  int type;  // 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long, 4 long long, 5 int
  int result;
  NvmlValue value;
};
static_assert(sizeof(NvmlUtilization) == 8 && sizeof(NvmlMemory) == 24 && sizeof(NvmlViolation) == 16);
static_assert(sizeof(NvmlPci) == 68 && sizeof(NvmlProcess) == 24 && sizeof(NvmlField) == 40);

inline constexpr unsigned nvml_field_memory_temperature = 82, nvml_field_power_instant = 186;
inline constexpr int nvml_clock_sm = 1, nvml_clock_memory = 2;
inline constexpr int nvml_policy_power = 0, nvml_policy_thermal = 1;
inline constexpr int nvml_pcie_sent = 0, nvml_pcie_received = 1;
inline constexpr unsigned nvml_most_links = 18;
inline constexpr int nvml_peer_nvlink = 2, nvml_peer_ok = 0;

// Every function returns an NvmlResult. They are as thread-safe as NVML is.
struct NvmlApi {
  std::function<int()> init, shutdown;
  std::function<int(char*, unsigned)> driver_version, nvml_version;
  std::function<int(int*)> cuda_version;  // 12080 is 12.8
  std::function<int(unsigned*)> device_count;
  std::function<int(unsigned, NvmlDevice*)> device_by_index;
  std::function<int(const char*, NvmlDevice*)> device_by_uuid;
  std::function<int(NvmlDevice, char*, unsigned)> name, uuid;
  std::function<int(NvmlDevice, NvmlPci*)> pci;
  std::function<int(NvmlDevice, int*, int*)> compute_capability;
  std::function<int(NvmlDevice, unsigned*)> cores, persistence, power_limit, default_power_limit, power, performance_state;
  std::function<int(NvmlDevice, unsigned*)> pcie_generation, pcie_width, pcie_generation_max, pcie_width_max;
  std::function<int(NvmlDevice, unsigned*, unsigned*)> ecc_mode, mig_mode;  // now, after the next start
  std::function<int(NvmlDevice, unsigned long long*)> energy, throttle_reasons;
  std::function<int(NvmlDevice, int, unsigned*)> temperature, clock, clock_max, pcie_throughput;
  std::function<int(NvmlDevice, NvmlUtilization*)> utilization;
  std::function<int(NvmlDevice, NvmlMemory*)> memory;
  std::function<int(NvmlDevice, int, NvmlViolation*)> violation;
  std::function<int(NvmlDevice, int, int, unsigned long long*)> ecc_errors;  // error type, counter type
  std::function<int(NvmlDevice, unsigned*, NvmlProcess*)> processes;
  std::function<int(NvmlDevice, int, NvmlField*)> fields;
  std::function<int(NvmlDevice, unsigned, unsigned*)> link_state, link_version;
  std::function<int(NvmlDevice, unsigned, NvmlPci*)> link_remote;
  std::function<int(NvmlDevice, NvmlDevice, int*)> common_ancestor;
  std::function<int(NvmlDevice, NvmlDevice, int, int*)> peer_status;  // status of one way to reach the other, such as nvml_peer_nvlink
};

// Opens the library and starts it. On failure `reason` says why and the table is empty. The library stays open for the program's life:
// its threads and handlers do not survive being closed.
struct NvmlLoad {
  NvmlApi api;
  std::string reason;
};
NvmlLoad load_nvml();
// The table that is loaded, or a test's. Starts it; the words of `init`'s failure are the reason.
using NvmlLoader = std::function<NvmlLoad()>;

template <typename Function, typename... Arguments>
int nvml_call(const Function& function, Arguments... arguments) {
  return function ? function(arguments...) : nvml_function_not_found;
}

}  // namespace deepgap
