// Describes the machine's GPUs and their state through NVML, for `deepgap devices`, `deepgap doctor` and a Record's environment. Talks to
// the driver, which may hang: call it in a child process, never in the parent of a run.
#pragma once

#include "telemetry/environment.h"
#include "telemetry/nvml_api.h"

#include <deepgap/record.h>

#include <string>
#include <vector>

namespace deepgap {

struct GpuInventory {
  std::string reason;       // why no GPU is known; empty with one
  std::string note;         // about the order in which CUDA counts
  Facts driver;             // "driver", "cuda", "nvml": versions
  std::vector<Facts> gpus;  // facts about cuda:0, cuda:1, ...: keys as below, and paths (gpu_path.h) where there are several
};
// `root` stands for "/": NUMA node and CPU socket come from /sys.
GpuInventory inspect_gpus(const NvmlLoader& load, const std::string& root = "/");

// Returns what does not change while the driver runs: name, uuid, memory_bytes, compute_capability, multiprocessors, pci_bus_id,
// pcie_generation_max, pcie_width_max, power_limit_w, power_limit_default_w, clock_sm_max_hz, clock_memory_max_hz, persistence_mode, ecc,
// mig, nvlinks, nvlink_version, nvlink_to, numa_node, cpu_socket,
// near_cpus. A fact that cannot be known is "not available: why".
Facts gpu_facts(const NvmlApi& api, NvmlDevice device, const std::string& root);
Facts driver_facts(const NvmlApi& api);
// Returns the readings of the probe `nvml`, once, by their names; throttle_reasons in words.
Facts gpu_state(const NvmlApi& api, NvmlDevice device);

// Returns advice about GPU states that disturb measurements, worst first; a machine without GPUs gets one line that says so.
std::vector<Advice> examine_gpus(const GpuInventory& inventory);

}  // namespace deepgap
