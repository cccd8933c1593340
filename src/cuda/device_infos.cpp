#include "cuda/device_infos.h"

#include "base/file.h"
#include "base/text.h"
#include "cuda/objects.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <map>
#include <string>

namespace deepgap::cuda {
namespace {

using Properties = std::map<std::string, std::string>;

// One line of a file, or nothing.
std::string line_of(const std::string& path) {
  try {
    return trim(split(read_text(path), '\n').front());
  } catch (const Error&) {
    return {};
  }
}

void add(Properties& properties, const std::string& name, const std::string& value) {
  if (!value.empty()) properties[name] = value;
}
void add_clock(Properties& properties, const std::string& name, int khz) {
  if (khz > 0) properties[name] = fmt::format("{} MHz", khz / 1000);
}

Properties properties_of(const DeviceFacts& facts) {
  Properties properties;
  properties["multiprocessors"] = std::to_string(facts.multiprocessors);
  properties["compute_capability"] = fmt::format("{}.{}", facts.major, facts.minor);
  properties["driver_cuda"] = fmt::format("{}.{}", facts.version / 1000, facts.version % 1000 / 10);
  add_clock(properties, "sm_clock", facts.clock_khz);
  add_clock(properties, "memory_clock", facts.memory_clock_khz);
  add(properties, "driver", line_of("/sys/module/nvidia/version"));
  if (facts.pci.empty()) return properties;
  const std::string folder = "/sys/bus/pci/devices/" + facts.pci + "/";  // what the kernel reports about the card's slot
  properties["pci"] = facts.pci;
  add(properties, "pcie_speed", line_of(folder + "max_link_speed"));
  add(properties, "pcie_width", line_of(folder + "max_link_width"));
  add(properties, "numa_node", line_of(folder + "numa_node"));
  return properties;
}

}  // namespace

std::vector<DeviceInfo> device_infos() {
  std::vector<DeviceInfo> devices;
  for (int index = 0; index < device_count(); ++index) {
    const DeviceFacts facts = device_facts(index);
    devices.push_back({DeviceId{"", "cuda", index}, facts.name, static_cast<int64_t>(facts.memory_bytes), properties_of(facts)});
  }
  return devices;
}

}  // namespace deepgap::cuda
