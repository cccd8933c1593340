// How GPUs are connected: NVLinks, and the way over PCIe that two GPUs share. In the codes of `nvidia-smi topo -m`.
#pragma once

#include "telemetry/nvml_api.h"

#include <deepgap/record.h>

#include <map>
#include <string>

namespace deepgap {

// "0000:1b:00.0": a PCI address as /sys/bus/pci/devices names it.
std::string pci_address(const NvmlPci& pci);

// The NVLinks of a GPU that are up.
struct GpuLinks {
  int result = nvml_ok;              // why the links are not known
  unsigned version = 0;              // 0: not known
  std::map<std::string, int> peers;  // number of links to each PCI address; NVSwitches are "a switch"

  int64_t active() const;
  // Returns the number of links on which data go to the GPU at this address. Every link to a switch counts.
  int64_t to(const std::string& address) const;
};
GpuLinks gpu_links(const NvmlApi& api, NvmlDevice device);

// Returns the nearest part of the machine that both GPUs hang on: PIX (a PCIe switch, or one board), PXB (several PCIe switches), PHB (a
// PCIe host bridge), NODE (a NUMA node) or SYS (the link between NUMA nodes).
Fact pcie_path(const NvmlApi& api, NvmlDevice a, NvmlDevice b);
// Returns "NV18" (18 NVLinks) where NVLinks connect them, else pcie_path().
Fact gpu_path(const NvmlApi& api, NvmlDevice from, NvmlDevice to);
// Adds path_to_N and pcie_path_to_N, N being the number of `to`.
void add_path(const NvmlApi& api, NvmlDevice from, NvmlDevice to, int number, const std::string& prefix, Facts& facts);

}  // namespace deepgap
