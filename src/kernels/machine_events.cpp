#include "kernels/machine_events.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return trim(line);
}

// "0-1,28" as 0, 1, 28.
std::vector<int> listed_cpus(const std::string& list) {
  std::vector<int> cpus;
  for (const std::string& part : split(list, ',')) {
    if (part.empty()) continue;
    const size_t dash = part.find('-');
    const int first = std::atoi(part.c_str()), last = dash == std::string::npos ? first : std::atoi(part.c_str() + dash + 1);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

// "event=0x04,umask=0x03". nullopt where it says more than these two.
std::optional<unsigned long long> config_of(const std::string& text) {
  unsigned long long config = 0;
  for (const std::string& term : split(text, ',')) {
    const size_t equals = term.find('=');
    const std::string name = term.substr(0, equals);
    if (equals == std::string::npos || (name != "event" && name != "umask")) return std::nullopt;
    config |= std::strtoull(term.c_str() + equals + 1, nullptr, 0) << (name == "umask" ? 8 : 0);
  }
  return config;
}

double unit_of(const std::string& unit) { return unit == "MiB" ? 1048576 : unit == "KiB" ? 1024 : 1; }

std::optional<MachineEvent> event_of(const fs::path& source, const char* event, const char* name) {
  const std::string text = first_line(source / "events" / event), type = first_line(source / "type");
  if (text.empty() || type.empty()) return std::nullopt;
  const auto config = config_of(text);
  const std::string scale = first_line(source / "events" / (std::string(event) + ".scale")),
                    unit = first_line(source / "events" / (std::string(event) + ".unit"));
  if (!config || scale.empty() || unit.empty()) return std::nullopt;  // a count of nobody knows what
  MachineEvent found{name, std::atoi(type.c_str()), *config, listed_cpus(first_line(source / "cpumask")),
                     std::strtod(scale.c_str(), nullptr) * unit_of(unit)};
  if (found.cpus.empty()) found.cpus = {0};
  return found;
}

struct Wanted {
  const char *source, *event, *name;
};
// A server's memory controllers come first; a client's have other names, and no machine has both.
constexpr std::array<Wanted, 8> wanted{{{"uncore_imc", "cas_count_read", "dram_bytes_read"},
                                        {"uncore_imc", "cas_count_write", "dram_bytes_written"},
                                        {"uncore_imc", "data_reads", "dram_bytes_read"},
                                        {"uncore_imc", "data_read", "dram_bytes_read"},
                                        {"uncore_imc", "data_writes", "dram_bytes_written"},
                                        {"uncore_imc", "data_write", "dram_bytes_written"},
                                        {"power", "energy-pkg", "energy_package_j"},
                                        {"power", "energy-ram", "energy_dram_j"}}};

}  // namespace

const std::vector<std::string>& width_event_names() {
  static const std::vector<std::string> names{"fp32_flop_scalar", "fp32_flop_128", "fp32_flop_256", "fp32_flop_512",
                                              "fp64_flop_scalar", "fp64_flop_128", "fp64_flop_256", "fp64_flop_512"};
  return names;
}

// FP_ARITH_INST_RETIRED of Intel's CPUs since Broadwell: event 0xc7, a bit for each kind in its mask.
std::vector<WidthEvent> width_events(const std::string& cpuinfo) {
  std::string vendor;
  int family = 0, model = 0;
  for (const std::string& line : split(cpuinfo, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
    if (key == "vendor_id" && vendor.empty()) vendor = value;
    if (key == "cpu family" && family == 0) family = std::atoi(value.c_str());
    if (key == "model" && model == 0) model = std::atoi(value.c_str());
  }
  constexpr int broadwell = 0x3d;
  if (vendor != "GenuineIntel" || family != 6 || model < broadwell) return {};
  constexpr unsigned long long event = 0xc7;
  return {{"fp32_flop_scalar", event | 0x02 << 8, 1}, {"fp32_flop_128", event | 0x08 << 8, 4},    {"fp32_flop_256", event | 0x20 << 8, 8},
          {"fp32_flop_512", event | 0x80 << 8, 16},   {"fp64_flop_scalar", event | 0x01 << 8, 1}, {"fp64_flop_128", event | 0x04 << 8, 2},
          {"fp64_flop_256", event | 0x10 << 8, 4},    {"fp64_flop_512", event | 0x40 << 8, 8}};
}

const std::vector<std::string>& machine_event_names() {
  static const std::vector<std::string> names{"dram_bytes_read", "dram_bytes_written", "energy_package_j", "energy_dram_j"};
  return names;
}

std::vector<MachineEvent> machine_events(const std::string& devices) {
  std::vector<fs::path> sources;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(devices, error)) sources.push_back(entry.path());
  std::sort(sources.begin(), sources.end());
  std::vector<MachineEvent> events;
  std::vector<std::string> found;  // names, by a form of which others are another spelling
  for (const Wanted& one : wanted) {
    if (std::find(found.begin(), found.end(), one.name) != found.end()) continue;
    for (const fs::path& source : sources) {
      if (!source.filename().string().starts_with(one.source)) continue;
      if (auto event = event_of(source, one.event, one.name)) {
        events.push_back(std::move(*event));
        found.emplace_back(one.name);
      }
    }
  }
  return events;
}

}  // namespace deepgap
