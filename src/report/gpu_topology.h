// Where the GPUs of a machine hang: NUMA nodes, PCIe switches, NVLinks, and the copy rates that were measured. From the facts of Records,
// which telemetry/gpus.h and telemetry/gpu_copies.h name. Pure.
#pragma once

#include "analysis/results.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct RateRange {
  double low = 0, high = 0;  // bytes per second; they differ if Records state several measurements
};

struct PlacedGpu {
  int number = 0;  // N of cuda:N
  // As the facts word them; empty: not known, or Records differ.
  std::string name, numa_node, near_cpus, pcie_generation, pcie_width;
  std::optional<RateRange> h2d, d2h;                    // while no other GPU copies
  std::optional<RateRange> h2d_together, d2h_together;  // while `gpus_together` GPUs copy
  std::string gpus_together;
  std::map<int, std::string> paths;       // to other GPUs: "NV18", as telemetry/gpu_path.h codes them
  std::map<int, std::string> pcie_paths;  // the same without NVLinks
  std::map<int, RateRange> copies_to;

  std::string link() const;  // "PCIe 5 x16"; empty: not known
};

struct GpuTopology {
  std::vector<PlacedGpu> gpus;  // by NUMA node, then PCIe switch, then number

  // Returns the GPUs below one PCIe switch together, others alone; in the order of `gpus`.
  std::vector<std::vector<const PlacedGpu*>> switches() const;
};

// Returns nothing for fewer than two GPUs, and where Records of several machines differ in a GPU's name.
std::optional<GpuTopology> gpu_topology_of(const FactTable& environment);

std::string rate_words(const RateRange& rate);  // "53.6" in GB/s, "53.4 to 53.8"

// The picture: memory nodes with their switches and GPUs. Empty for more GPUs than fit.
std::string gpu_topology_svg(const GpuTopology& topology);

}  // namespace deepgap
