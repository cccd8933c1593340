#include "profile/work_table.h"

#include "ceilings/roofline.h"

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

using Rate = std::optional<double>;

Rate over(const std::optional<double>& amount, double by) { return amount && by > 0 ? Rate(*amount / by) : Rate(); }
Rate sum(const std::optional<double>& a, const std::optional<double>& b) { return a && b ? Rate(*a + *b) : a ? a : b; }

// The least time of what was counted: bytes of DRAM from the device's memory, each operation at the peak of what did it.
void bind(WorkRow& row, const Ceilings& ceilings, const std::string& precision) {
  if (ceilings.memory.empty() || !row.bytes || row.seconds <= 0) return;
  const double tensor_peak = peak_flop_per_s(ceilings, precision), lane_peak = peak_flop_per_s(ceilings, "fp32");
  const double bandwidth = ceilings.memory.back().bytes_per_s();
  if (tensor_peak <= 0 || lane_peak <= 0 || bandwidth <= 0) return;
  const double memory = *row.bytes / bandwidth;
  // Threads and tensor cores work beside each other.
  const double compute = std::max(row.fp32_flop.value_or(0) / lane_peak, row.tensor_flop.value_or(0) / tensor_peak);
  if (memory <= 0 && compute <= 0) return;
  row.of_roof = std::max(memory, compute) / row.seconds;
  row.bound = memory >= compute ? "memory" : "compute";
}

// Adds what the row moved through each level, and which share of the level's bandwidth that takes. All use the same operations.
void add_levels(WorkRow& row, const Ceilings& ceilings) {
  const double dram = ceilings.memory.empty() ? 0 : ceilings.memory.back().bytes_per_s();
  const auto add = [&](const char* name, const std::optional<double>& bytes, double bandwidth) {
    if (!bytes || *bytes <= 0) return;
    MemoryLevel& level = row.levels.emplace_back(MemoryLevel{.name = name, .bytes = *bytes});
    if (row.all_flop() && *row.all_flop() > 0) level.intensity = *row.all_flop() / *bytes;
    if (bandwidth > 0 && row.seconds > 0) level.of_bandwidth = *bytes / row.seconds / bandwidth;
  };
  add("DRAM", row.bytes, dram);
  add("L2", sum(row.l2_read_bytes, row.l2_written_bytes), bandwidth_bytes_per_s(ceilings, 0));
  add("L1", row.l1_bytes, ceilings.gpu ? ceilings.gpu->l1_bytes_per_s : 0);
}

WorkRow row_of(const std::string& name, const KernelSums& sums, double seconds) {
  WorkRow row{.name = name, .kernels = sums.kernels, .seconds = seconds};
  if (sums.has_dram()) {
    row.bytes = sums.dram_bytes;
    row.dram_read_bytes = sums.dram_read_bytes;
    row.dram_written_bytes = sums.dram_written_bytes;
    row.l2_read_bytes = sums.l2_read_bytes;
    row.l2_written_bytes = sums.l2_written_bytes;
  }
  if (sums.has_l1()) row.l1_bytes = sums.l1_bytes;
  if (sums.has_flop()) {
    row.fp32_flop = sums.fp32_flop;
    row.other_flop = sums.half_flop + sums.double_flop;
  }
  if (sums.has_tensor()) row.tensor_flop = sums.tensor_flop;
  if (sums.has_activity()) {
    row.busy = sums.busy();
    row.occupancy = sums.occupancy();
  }
  return row;
}

double seconds_of(Nanoseconds ns) { return static_cast<double>(ns) / 1e9; }

std::string layer_name(const LayerProfile& profile, int layer) {
  return profile.trace && layer >= 0 && static_cast<size_t>(layer) < profile.trace->layers.size()
             ? profile.trace->layers[static_cast<size_t>(layer)].name
             : std::string();
}

// A layer without kernels of its own has nothing counted.
std::vector<WorkRow> counted_layers(const LayerProfile& profile) {
  const CountedRun& run = *profile.counters;
  const auto same = [](const ProfiledLayer& layer, const TracedLayer& traced) { return layer.name == traced.name; };
  if (!profile.trace || run.parts.empty() ||
      !std::equal(profile.layers.begin(), profile.layers.end(), profile.trace->layers.begin(), profile.trace->layers.end(), same))
    return {};
  std::vector<std::vector<KernelCounters>> members(profile.layers.size());
  for (const CountedPart& part : run.parts)
    if (part.layer >= 0 && static_cast<size_t>(part.layer) < members.size())
      members[static_cast<size_t>(part.layer)].push_back(part.counters);
  std::vector<WorkRow> rows;
  for (size_t i = 0; i < members.size(); ++i) {
    const KernelSums sums = sums_of(members[i]);
    rows.push_back(row_of(profile.layers[i].name, sums, sums.seconds));
  }
  return rows;
}

WorkTable counted_table(const LayerProfile& profile) {
  const CountedRun& run = *profile.counters;
  WorkTable table{.counted = true};
  std::map<std::string, std::vector<KernelCounters>> members;
  for (const CountedPart& part : run.parts) {
    members[part.counters.family].push_back(part.counters);
    WorkRow& row = table.parts.emplace_back(row_of(part.counters.kernel, sums_of({part.counters}), part.counters.traced_seconds));
    if (run.by_kernel) row.layer = layer_name(profile, part.layer);
  }
  for (const auto& [family, counters] : members) {
    const KernelSums sums = sums_of(counters);
    table.families.push_back(row_of(family, sums, sums.seconds));
  }
  table.layers = counted_layers(profile);
  table.network = row_of("network", sums_of({run.whole}), seconds_of(profile.whole_ns));
  table.network.kernels = static_cast<int>(profile.trace ? profile.trace->kernels.size() : run.parts.size());
  return table;
}

WorkTable graph_table(const LayerProfile& profile) {
  WorkTable table;
  table.network.name = "network";
  const std::vector<std::string> families = families_of_layers(profile);
  std::map<std::string, WorkRow> rows;
  for (size_t i = 0; i < profile.layers.size(); ++i) {
    const ProfiledLayer& layer = profile.layers[i];
    if (layer.flop < 0 || layer.ns <= 0) continue;
    WorkRow& family = rows[families[i]];
    family.name = families[i];
    for (WorkRow* row : {&family, &table.network}) {
      row->kernels++;
      row->seconds += seconds_of(layer.ns);
      row->fp32_flop = row->fp32_flop.value_or(0) + static_cast<double>(layer.flop);
      row->bytes = row->bytes.value_or(0) + static_cast<double>(layer.bytes);
    }
  }
  for (auto& [name, row] : rows) table.families.push_back(std::move(row));
  if (profile.layers.empty() && profile.step_flop >= 0 && profile.step_bytes >= 0) {
    table.network.seconds = seconds_of(profile.whole_ns);
    table.network.fp32_flop = static_cast<double>(profile.step_flop);
    table.network.bytes = static_cast<double>(profile.step_bytes);
  }
  return table;
}

}  // namespace

std::optional<double> WorkRow::all_flop() const { return sum(sum(fp32_flop, other_flop), tensor_flop); }
std::optional<double> WorkRow::dram_bytes_per_s() const { return over(bytes, seconds); }
std::optional<double> WorkRow::flop_per_s() const { return over(fp32_flop, seconds); }
std::optional<double> WorkRow::tensor_flop_per_s() const { return over(tensor_flop, seconds); }
std::optional<double> WorkRow::intensity() const { return bytes ? over(fp32_flop, *bytes) : Rate(); }
std::optional<double> WorkRow::intensity_with_tensor() const { return bytes && tensor_flop ? over(all_flop(), *bytes) : Rate(); }

WorkTable work_table(const LayerProfile& profile, const Ceilings& ceilings, const std::string& precision) {
  WorkTable table = profile.counters && profile.counters->has_counts() ? counted_table(profile) : graph_table(profile);
  double all = 0;
  for (const WorkRow& row : table.families) all += row.seconds;
  const auto finish = [&](WorkRow& row) {
    row.share = all > 0 ? row.seconds / all : 0;
    if (!table.counted) return;
    bind(row, ceilings, precision);
    add_levels(row, ceilings);
  };
  std::for_each(table.families.begin(), table.families.end(), finish);
  std::for_each(table.parts.begin(), table.parts.end(), finish);
  std::for_each(table.layers.begin(), table.layers.end(), finish);
  finish(table.network);
  table.network.share = 1;
  std::stable_sort(table.families.begin(), table.families.end(), [](const WorkRow& a, const WorkRow& b) { return a.seconds > b.seconds; });
  return table;
}

std::vector<std::string> counted_levels(const WorkTable& table) {
  std::vector<std::string> names;
  for (const char* name : {"DRAM", "L2", "L1"}) {
    const auto has = [&](const WorkRow& row) { return level_of(row, name) != nullptr; };
    if (has(table.network) || std::any_of(table.families.begin(), table.families.end(), has)) names.emplace_back(name);
  }
  return names;
}

const MemoryLevel* level_of(const WorkRow& row, const std::string& name) {
  const auto found = std::find_if(row.levels.begin(), row.levels.end(), [&](const MemoryLevel& level) { return level.name == name; });
  return found == row.levels.end() ? nullptr : &*found;
}

std::vector<std::string> families_of_layers(const LayerProfile& profile) {
  std::vector<std::string> result(profile.layers.size());
  std::vector<std::map<std::string, Nanoseconds>> times(profile.layers.size());
  if (profile.trace && profile.times_of_kernels)
    for (const Kernel& kernel : profile.trace->kernels)
      if (kernel.layer >= 0 && static_cast<size_t>(kernel.layer) < times.size())
        times[static_cast<size_t>(kernel.layer)][kernel.family] += kernel.ns();
  for (size_t i = 0; i < times.size(); ++i) {
    for (const auto& [family, ns] : times[i])
      if (result[i].empty() || ns > times[i][result[i]]) result[i] = family;
    if (result[i].empty()) result[i] = profile.layers[i].op;
  }
  return result;
}

GraphWork graph_work(const LayerProfile& profile) {
  GraphWork work{static_cast<double>(std::max<int64_t>(profile.step_flop, 0)),
                 static_cast<double>(std::max<int64_t>(profile.step_bytes, 0))};
  for (const ProfiledLayer& layer : profile.layers) {
    work.flop += static_cast<double>(std::max<int64_t>(layer.flop, 0));
    work.bytes += static_cast<double>(std::max<int64_t>(layer.bytes, 0));
  }
  return work;
}

void assign_families(const Families& families, LayerProfile& profile) {
  if (!profile.trace) return;
  families.assign(*profile.trace);
  if (!profile.counters) return;
  const Trace& trace = *profile.trace;
  CountedRun& run = *profile.counters;
  const std::vector<std::string> of_layers = families_of_layers(profile);
  for (CountedPart& part : run.parts) {
    const bool known = part.layer >= 0 && static_cast<size_t>(part.layer) < trace.layers.size();
    const std::string op = known ? trace.layers[static_cast<size_t>(part.layer)].op : std::string();
    if (run.by_kernel)
      part.counters.family = families.of(part.counters.kernel, op);
    else
      part.counters.family = known && static_cast<size_t>(part.layer) < of_layers.size() ? of_layers[static_cast<size_t>(part.layer)] : op;
  }
}

}  // namespace deepgap
