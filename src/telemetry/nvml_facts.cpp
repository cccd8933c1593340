// Facts of one GPU, each by one small function of NVML or a file of /sys.
#include "base/text.h"
#include "base/throttle.h"
#include "telemetry/gpu_path.h"
#include "telemetry/gpus.h"
#include "telemetry/nvml_series.h"
#include "telemetry/system_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace deepgap {
namespace {

// A number or a truth from one call, else its reason.
template <typename Make>
Fact fact_or(int result, Make make) {
  return result == nvml_ok ? Fact(make()) : not_available(nvml_words(result));
}

Fact text_fact(const std::function<int(NvmlDevice, char*, unsigned)>& function, NvmlDevice device) {
  std::array<char, 128> text{};
  const int result = nvml_call(function, device, text.data(), static_cast<unsigned>(text.size() - 1));
  return fact_or(result, [&] { return std::string(text.data()); });
}

Fact whole_fact(const std::function<int(NvmlDevice, unsigned*)>& function, NvmlDevice device) {
  unsigned value = 0;
  return fact_or(nvml_call(function, device, &value), [&] { return int64_t{value}; });
}

Fact watts_fact(const std::function<int(NvmlDevice, unsigned*)>& function, NvmlDevice device) {
  unsigned milliwatts = 0;
  return fact_or(nvml_call(function, device, &milliwatts), [&] { return milliwatts / 1e3; });
}

Fact clock_fact(const NvmlApi& api, NvmlDevice device, int which) {
  unsigned mhz = 0;
  return fact_or(nvml_call(api.clock_max, device, which, &mhz), [&] { return mhz * 1e6; });
}

// Reads a mode that also has a value after the next start.
Fact mode_fact(const std::function<int(NvmlDevice, unsigned*, unsigned*)>& function, NvmlDevice device) {
  unsigned now = 0, later = 0;
  return fact_or(nvml_call(function, device, &now, &later), [&] { return now != 0; });
}

// FP32 lanes of a multiprocessor, by compute capability (CUDA C++ Programming Guide, "Arithmetic Instructions").
int lanes_per_multiprocessor(int major, int minor) {
  static const std::map<std::pair<int, int>, int> known{{{6, 0}, 64}, {{7, 0}, 64}, {{7, 2}, 64}, {{7, 5}, 64}, {{8, 0}, 64}};
  const auto found = known.find({major, minor});
  if (found != known.end()) return found->second;
  return major >= 6 && major <= 12 ? 128 : 0;
}

void add_processor(const NvmlApi& api, NvmlDevice device, Facts& facts) {
  int major = 0, minor = 0;
  const int known = nvml_call(api.compute_capability, device, &major, &minor);
  facts["compute_capability"] = fact_or(known, [&] { return fmt::format("{}.{}", major, minor); });
  unsigned cores = 0;
  const int counted = nvml_call(api.cores, device, &cores);
  const int lanes = known == nvml_ok ? lanes_per_multiprocessor(major, minor) : 0;
  if (counted != nvml_ok) {
    facts["multiprocessors"] = not_available(nvml_words(counted));
  } else if (lanes == 0) {
    facts["multiprocessors"] = not_available(fmt::format("{} cores of an unknown compute capability", cores));
  } else {
    facts["multiprocessors"] = int64_t{cores} / lanes;
  }
  facts["clock_sm_max_hz"] = clock_fact(api, device, nvml_clock_sm);
  facts["clock_memory_max_hz"] = clock_fact(api, device, nvml_clock_memory);
}

void add_place(const NvmlApi& api, NvmlDevice device, const SystemRoot& root, Facts& facts) {
  NvmlPci pci{};
  const int result = nvml_call(api.pci, device, &pci);
  facts["pci_bus_id"] = fact_or(result, [&] { return pci_address(pci); });
  facts["pcie_generation_max"] = whole_fact(api.pcie_generation_max, device);
  facts["pcie_width_max"] = whole_fact(api.pcie_width_max, device);
  const std::string folder = "/sys/bus/pci/devices/" + pci_address(pci);
  const auto node = result == nvml_ok ? root.integer(folder + "/numa_node") : std::nullopt;
  facts["numa_node"] = node && *node >= 0 ? Fact(*node) : not_available("/sys does not say");
  const std::string near = result == nvml_ok ? root.text(folder + "/local_cpulist") : "";
  const auto cpus = parse_cpu_list(near);
  std::optional<int64_t> socket;
  if (cpus && !cpus->empty())
    socket = root.integer(fmt::format("/sys/devices/system/cpu/cpu{}/topology/physical_package_id", cpus->front()));
  facts["near_cpus"] = near.empty() ? not_available("/sys does not say") : Fact(near);
  facts["cpu_socket"] = socket && *socket >= 0 ? Fact(*socket) : not_available("/sys does not say");
}

void add_links(const NvmlApi& api, NvmlDevice device, Facts& facts) {
  const GpuLinks links = gpu_links(api, device);
  facts["nvlinks"] = links.result == nvml_ok ? Fact(links.active()) : not_available(nvml_words(links.result));
  if (links.peers.empty()) return;
  if (links.version > 0) facts["nvlink_version"] = int64_t{links.version};
  std::vector<std::string> words;
  for (const auto& [peer, count] : links.peers) words.push_back(fmt::format("{} x{}", peer, count));
  facts["nvlink_to"] = join(words, ", ");
}

}  // namespace

Facts gpu_facts(const NvmlApi& api, NvmlDevice device, const std::string& root) {
  Facts facts;
  facts["name"] = text_fact(api.name, device);
  facts["uuid"] = text_fact(api.uuid, device);
  NvmlMemory memory{};
  facts["memory_bytes"] = fact_or(nvml_call(api.memory, device, &memory), [&] { return static_cast<int64_t>(memory.total); });
  facts["power_limit_w"] = watts_fact(api.power_limit, device);
  facts["power_limit_default_w"] = watts_fact(api.default_power_limit, device);
  unsigned persistent = 0;
  facts["persistence_mode"] = fact_or(nvml_call(api.persistence, device, &persistent), [&] { return persistent != 0; });
  facts["ecc"] = mode_fact(api.ecc_mode, device);
  facts["mig"] = mode_fact(api.mig_mode, device);
  facts["power_reading"] = std::string(tells_power_of_the_moment(api, device) ? "of the moment" : "from nvmlDeviceGetPowerUsage");
  add_processor(api, device, facts);
  add_place(api, device, SystemRoot(root), facts);
  add_links(api, device, facts);
  return facts;
}

Facts driver_facts(const NvmlApi& api) {
  Facts facts;
  std::array<char, 128> text{};
  const auto version = [&](const std::function<int(char*, unsigned)>& function) {
    const int result = nvml_call(function, text.data(), static_cast<unsigned>(text.size() - 1));
    return fact_or(result, [&] { return std::string(text.data()); });
  };
  facts["driver"] = version(api.driver_version);
  facts["nvml"] = version(api.nvml_version);
  int cuda = 0;
  facts["cuda"] = fact_or(nvml_call(api.cuda_version, &cuda), [&] { return fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10); });
  return facts;
}

Facts gpu_state(const NvmlApi& api, NvmlDevice device) {
  Facts facts;
  for (const NvmlRow& row : nvml_rows()) {
    const NvmlReading reading = row.read(api, device);
    const std::string key(row.name);
    facts[key] = fact_or(reading.result, [&] { return reading.value; });
    if (key == "throttle_reasons" && reading.result == nvml_ok) facts[key] = throttle_words(static_cast<uint64_t>(reading.value));
  }
  return facts;
}

}  // namespace deepgap
