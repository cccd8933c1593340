// What a GPU did for one batch in the quantities of a training study: bytes, operations, rates and intensity, for the network and by kernel
// family. The hardware counted them if it could; otherwise they come from the network's graph, and the text says so. Pure.
#pragma once

#include "ceilings/ceilings.h"
#include "kernels/families.h"
#include "profile/layer_profile.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// A level of the memory hierarchy, with what it moved as counted.
struct MemoryLevel {
  std::string name;                    // DRAM, L2, L1
  double bytes = 0;                    // read and written; for L1 what loads and stores of threads ask for, without shared memory
  std::optional<double> intensity;     // all operations a byte, tensor cores' among them
  std::optional<double> of_bandwidth;  // share of the level's measured peak bandwidth
};

// Values that are not known are absent.
struct WorkRow {
  std::string name, layer;  // layer: of a kernel
  int kernels = 0;          // or layers, of a graph's count
  double seconds = 0;
  double share = 0;  // share of all rows' time
  std::optional<double> dram_read_bytes, dram_written_bytes, l2_read_bytes, l2_written_bytes;
  std::optional<double> l1_bytes;         // see MemoryLevel
  std::optional<double> bytes;            // DRAM's; from a graph: each value moved once
  std::optional<double> fp32_flop;        // fadd + fmul + 2 ffma of threads; from a graph: all operations of the network's layers
  std::optional<double> other_flop;       // FP16 and FP64 operations of threads
  std::optional<double> tensor_flop;      // operations of tensor cores; a multiply-add is two
  std::optional<double> busy, occupancy;  // share of the cycles in which a multiprocessor had work; share of its warps then
  // The least time that the device's ceilings allow for these bytes and operations, over the time, and which makes it.
  std::optional<double> of_roof;
  std::string bound;                // memory, compute; empty: not known
  std::vector<MemoryLevel> levels;  // farthest first; those that were counted

  std::optional<double> dram_bytes_per_s() const;
  std::optional<double> flop_per_s() const;  // fp32_flop
  std::optional<double> tensor_flop_per_s() const;
  std::optional<double> intensity() const;              // as the study defines it: fp32_flop a byte of DRAM
  std::optional<double> intensity_with_tensor() const;  // all operations, tensor cores' among them
  std::optional<double> all_flop() const;
};

struct WorkTable {
  bool counted = false;           // by the hardware; else from the graph
  std::vector<WorkRow> families;  // longest first
  WorkRow network;                // one plain run, as it is timed; from a graph the sum of the layers whose work is known
  std::vector<WorkRow> parts;     // only if counted: kernels or layers, in their order
  std::vector<WorkRow> layers;    // only if counted: those of LayerProfile::layers, in their order; empty if they differ
};

// Work of one batch by the network's graph, whatever executes it; 0: the graph does not say.
struct GraphWork {
  double flop = 0, bytes = 0;  // multiply and add are two; each value moved once
};
GraphWork graph_work(const LayerProfile& profile);

// Returns empty rows if there is neither. `ceilings` may be empty: then there are no bounds.
WorkTable work_table(const LayerProfile& profile, const Ceilings& ceilings, const std::string& precision);

// Returns the family that most of each layer's time is in; where kernels were not traced what the engine calls the layer.
std::vector<std::string> families_of_layers(const LayerProfile& profile);

// Assigns families to what was traced and to what was counted.
void assign_families(const Families& families, LayerProfile& profile);

// Describes the device's counters: the table, why there are none, what was left out. `top`: number of slowest kernels that are listed.
// Returns an empty text if nobody asked for counters.
std::string work_text(const LayerProfile& profile, const WorkTable& table, size_t top);
// Names of the levels that any row of the table has, farthest first.
std::vector<std::string> counted_levels(const WorkTable& table);
const MemoryLevel* level_of(const WorkRow& row, const std::string& name);  // nullptr: not counted

// Returns null if nobody asked for counters.
nlohmann::json work_json(const LayerProfile& profile, const WorkTable& table);

}  // namespace deepgap
