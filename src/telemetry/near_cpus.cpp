#include "telemetry/near_cpus.h"

#include "telemetry/system_file.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::refused, why + "; leave affinity out, or list the CPUs"); }

std::vector<int> cpus_near(const DeviceId& device, const Facts& environment, const SystemRoot& root) {
  const std::string name = fmt::format("{}:{}", device.kind, device.index);
  if (device.kind != "cuda") {
    throw Error(ErrorKind::usage, fmt::format("affinity near and far are for GPUs, not for {}; list the CPUs, such as 0-3", device.kind));
  }
  const auto fact = environment.find(fmt::format("gpu.cuda{}.pci_bus_id", device.index));
  const auto* address = fact == environment.end() ? nullptr : std::get_if<std::string>(&fact->second);
  if (address == nullptr || address->starts_with("not available")) {
    refuse(fmt::format("which CPUs feed {} is not known: NVML reports no PCI address", name));
  }
  const std::string folder = "/sys/bus/pci/devices/" + *address;
  const auto node = root.integer(folder + "/numa_node");
  const auto cpus = parse_cpu_list(root.text(folder + "/local_cpulist"));
  // Without a node the list is that of all CPUs: the firmware did not say, which is not a topology.
  if (!node || *node < 0 || !cpus || cpus->empty()) {
    refuse(fmt::format("which CPUs feed {} is not known: {} names no NUMA node", name, folder));
  }
  return *cpus;
}

}  // namespace

std::vector<int> cpus_beside(Side side, const std::vector<DeviceId>& devices, const Facts& environment, const std::vector<int>& allowed,
                             const std::string& root_path) {
  const SystemRoot root(root_path);
  const std::vector<int> near = cpus_near(devices.front(), environment, root);
  for (const DeviceId& device : devices) {
    if (cpus_near(device, environment, root) != near)
      refuse("the devices hang on different sockets: one process is not near to all of them");
  }
  std::vector<int> cpus;
  std::copy_if(allowed.begin(), allowed.end(), std::back_inserter(cpus), [&](int cpu) {
    const bool is_near = std::find(near.begin(), near.end(), cpu) != near.end();
    return is_near == (side == Side::near);
  });
  if (cpus.empty()) {
    refuse(fmt::format("none of the {} CPUs allowed here is {} the device's socket", allowed.size(), side == Side::near ? "on" : "off"));
  }
  return cpus;
}

}  // namespace deepgap
