#include "profile/explanations.h"

#include "base/quantity.h"
#include "base/text.h"
#include "kernels/families.h"
#include "kernels/occupancy.h"
#include "kernels/summary.h"
#include "profile/work_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

namespace deepgap {
namespace {

constexpr double worth_saying = 0.10;  // share of the time
constexpr double much_more = 1.5;      // factor over the graph's bytes
constexpr double tiles_worth_saying = 0.05;
constexpr double much_of_a_cache = 0.5;  // share of its bandwidth
constexpr double low_occupancy = 0.25, far_from_roof = 0.3, layer_worth_saying = 0.02;

std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// A kernel's short name, cut after 60 characters: a mangled one may have thousands, and its beginning says which kernel it is.
std::string kernel_words(const std::string& name) {
  constexpr size_t most = 60;
  const std::string text = short_kernel_name(name);
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

double bound_share(const ProfileRows& rows, const std::string& name) {
  for (const auto& [bound, share] : rows.bounds)
    if (bound == name) return share;
  return 0;
}

// Explains the bound that makes up the least time of most of the work.
void add_bound(const ProfileRows& rows, std::vector<Explanation>& all) {
  const double memory = bound_share(rows, "memory") + bound_share(rows, "cache"), compute = bound_share(rows, "compute");
  if (memory + compute <= 0 || !rows.all.of_roof) return;
  const bool is_memory = memory >= compute;
  if (*rows.all.of_roof < far_from_roof) {
    all.push_back(
        {"far_from_bounds",
         fmt::format("Neither arithmetic nor memory limits the layers: they reach {} of the measured peaks",
                     whole_percent(*rows.all.of_roof)),
         fmt::format("They take {} ms; at the measured peaks it would be {} ms. Kernels, threads or other work on the device limit them",
                     number_text(rows.all.seconds * 1e3), number_text(rows.all.roof_seconds.value_or(0) * 1e3))});
    return;
  }
  const std::string reach =
      fmt::format("The layers take {} ms; at the measured peaks they would take {} ms ({})", number_text(rows.all.seconds * 1e3),
                  number_text(rows.all.roof_seconds.value_or(0) * 1e3), whole_percent(*rows.all.of_roof));
  all.push_back({is_memory ? "memory_bound" : "compute_bound",
                 is_memory
                     ? fmt::format("Memory-bound: {} of the layers' time is in layers whose bytes take longer than their arithmetic",
                                   whole_percent(memory))
                     : fmt::format("Compute-bound: {} of the layers' time is in layers whose arithmetic takes longer than their bytes",
                                   whole_percent(compute)),
                 reach});
}

void add_gaps(const Trace& trace, std::vector<Explanation>& all) {
  const TraceSummary summary = summary_of(trace);
  if (summary.span == 0 || trace.kernels.empty()) return;
  const double idle = static_cast<double>(summary.gap_ns()) / static_cast<double>(summary.span);
  if (idle < worth_saying) return;
  std::vector<Nanoseconds> times;
  for (const Kernel& kernel : trace.kernels) times.push_back(kernel.ns());
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  const bool in_graph = std::any_of(trace.kernels.begin(), trace.kernels.end(), [](const Kernel& k) { return k.graph_node != 0; });
  all.push_back(
      {"launch_bound",
       fmt::format("Launch-bound: the device is idle for {} of the time between its first and its last kernel", whole_percent(idle)),
       fmt::format("{} gaps take {:.1f} us in all; half of the {} kernels take less than {:.1f} us. {}", summary.gaps.size(),
                   static_cast<double>(summary.gap_ns()) / 1e3, trace.kernels.size(), static_cast<double>(times[times.size() / 2]) / 1e3,
                   in_graph ? "They already run as a CUDA graph: fewer and larger kernels or a larger batch would help"
                            : "A CUDA graph, fewer kernels or a larger batch would help")});
}

// Kernels of which the same can be said: their time, and the longest of them.
struct Noticed {
  Nanoseconds ns = 0;
  const Kernel* longest = nullptr;
  Occupancy occupancy;  // occupancy of the longest kernel

  void add(const Kernel& kernel, const Occupancy& of) {
    ns += kernel.ns();
    if (longest != nullptr && kernel.ns() <= longest->ns()) return;
    longest = &kernel;
    occupancy = of;
  }
};

bool leaves_much_idle(const Occupancy& occupancy) {
  const double last = occupancy.waves - std::floor(occupancy.waves);
  return occupancy.waves < 4 && last > 0 && last < 0.6;
}

Explanation few_warps(const Noticed& low, double share) {
  return {
      "low_occupancy",
      fmt::format("Low occupancy: {} of the kernels' time is in kernels that fill less than a quarter of a multiprocessor's warps",
                  whole_percent(share)),
      fmt::format("{} uses {} registers a thread and {} of shared memory: {} block{} at a time, limited by {}. Many tensor-core kernels "
                  "need few warps and are written this way",
                  kernel_words(low.longest->name), low.longest->registers, format_bytes(static_cast<double>(low.longest->shared_bytes)),
                  low.occupancy.blocks, low.occupancy.blocks == 1 ? "" : "s", low.occupancy.limiter)};
}

Explanation few_blocks(const Noticed& tail, double share, int multiprocessors) {
  return {
      "tail",
      fmt::format("Tail effect: {} of the kernels' time is in grids whose last wave leaves much of the device idle", whole_percent(share)),
      fmt::format("{} takes {:.1f} waves of the blocks that {} multiprocessors hold at once", kernel_words(tail.longest->name),
                  tail.occupancy.waves, multiprocessors)};
}

void add_occupancy(const Trace& trace, const GpuCeilings& gpu, std::vector<Explanation>& all) {
  Nanoseconds whole = 0;
  Noticed low, tail;
  for (const Kernel& kernel : trace.kernels) {
    whole += kernel.ns();
    const auto occupancy = occupancy_of(kernel, gpu.architecture, gpu.multiprocessors);
    if (!occupancy) return;
    if (occupancy->share < low_occupancy) low.add(kernel, *occupancy);
    if (leaves_much_idle(*occupancy)) tail.add(kernel, *occupancy);
  }
  const auto share = [&](const Noticed& part) { return whole == 0 ? 0 : static_cast<double>(part.ns) / static_cast<double>(whole); };
  if (share(low) >= worth_saying) all.push_back(few_warps(low, share(low)));
  if (share(tail) >= worth_saying) all.push_back(few_blocks(tail, share(tail), gpu.multiprocessors));
}

bool is_product(const std::string& family) { return family == "gemm" || family.starts_with("conv"); }

// Uses the counters: finds kernels that multiply matrices without tensor cores. Returns false if no counter shows that.
bool add_counted_tensor_cores(const ProfileHeader& header, const LayerProfile& profile, const WorkTable& table,
                              std::vector<Explanation>& all) {
  double products = 0, without = 0;
  const WorkRow* longest = nullptr;
  for (size_t i = 0; i < table.parts.size(); ++i) {
    const WorkRow& part = table.parts[i];
    if (!part.tensor_flop) return false;
    if (!is_product(profile.counters->parts[i].counters.family)) continue;
    products += part.seconds;
    if (*part.tensor_flop > 0) continue;
    without += part.seconds;
    if (longest == nullptr || part.seconds > longest->seconds) longest = &part;
  }
  if (products <= 0) return false;
  if (longest != nullptr && header.precision != "fp32" && without >= worth_saying * products)
    all.push_back(
        {"tensor_cores_unused",
         fmt::format(
             "Tensor cores unused: {} of the time of convolutions and GEMMs is in kernels that do not use them, though {} allows it",
             whole_percent(without / products), header.precision),
         fmt::format("The longest is {}, {:.1f} us. Hardware counters show that it runs no tensor-core operation",
                     kernel_words(longest->name), longest->seconds * 1e6)});
  return true;
}

// Explains what limits the counted kernels, and how much more than the network needs goes through the device's memory.
void add_counted(const LayerProfile& profile, const WorkTable& table, std::vector<Explanation>& all) {
  double seconds = 0, memory = 0, compute = 0;
  for (const WorkRow& part : table.parts) {
    seconds += part.seconds;
    (part.bound == "memory" ? memory : compute) += part.bound.empty() ? 0 : part.seconds;
  }
  const WorkRow& network = table.network;
  if (seconds > 0 && memory + compute > 0 && network.of_roof)
    all.push_back({"counted_bound",
                   fmt::format("By hardware counters {} of the kernels' time is memory-bound and {} compute-bound",
                               whole_percent(memory / seconds), whole_percent(compute / seconds)),
                   fmt::format("The network moves {:.0f} GB/s of DRAM and reaches {} of its {} bound",
                               network.dram_bytes_per_s().value_or(0) / 1e9, whole_percent(*network.of_roof), network.bound)});
  const GraphWork graph = graph_work(profile);
  if (network.bytes && graph.bytes > 0 && *network.bytes > much_more * graph.bytes)
    all.push_back(
        {"more_traffic", fmt::format("DRAM traffic is {:.1f} times what the network needs", *network.bytes / graph.bytes),
         fmt::format("{} were counted; moving each value once takes {}. Tiles read again, padding, layout changes and workspaces add to it",
                     format_bytes(*network.bytes), format_bytes(graph.bytes))});
}

// Kernels that use more of a cache's bandwidth than of the memory's or of arithmetic's, and much of it.
void add_caches(const WorkTable& table, std::vector<Explanation>& all) {
  double seconds = 0, held = 0;
  const WorkRow* longest = nullptr;
  const MemoryLevel* level_of_longest = nullptr;
  for (const WorkRow& part : table.parts) {
    seconds += part.seconds;
    const MemoryLevel* nearest = nullptr;
    for (const MemoryLevel& level : part.levels)
      if (level.name != "DRAM" && level.of_bandwidth && (nearest == nullptr || *level.of_bandwidth > *nearest->of_bandwidth))
        nearest = &level;
    if (nearest == nullptr || *nearest->of_bandwidth < std::max(much_of_a_cache, part.of_roof.value_or(0))) continue;
    held += part.seconds;
    if (longest != nullptr && part.seconds <= longest->seconds) continue;
    longest = &part;
    level_of_longest = nearest;
  }
  if (longest == nullptr || held < worth_saying * seconds) return;
  all.push_back(
      {"cache_bound",
       fmt::format(
           "Cache-bound: {} of the kernels' time is in kernels that are nearer to a cache's peak than to those of DRAM and arithmetic",
           whole_percent(held / seconds)),
       fmt::format("The longest is {}: {} of the bandwidth of {}. Larger tiles in registers and shared memory would need less of it",
                   kernel_words(longest->name), whole_percent(*level_of_longest->of_bandwidth), level_of_longest->name)});
}

// Tensor cores multiply whole tiles: what hangs over a layer's edges is multiplied, too. Of layers that tensor cores compute, more than
// their multiply-adds; what is less, as an addition that is not a product, is none of it.
void add_tile_overhang(const LayerProfile& profile, const WorkTable& table, std::vector<Explanation>& all) {
  double counted = 0, beyond = 0, most = 0;
  size_t worst = 0;
  for (size_t i = 0; i < table.layers.size(); ++i) {
    const double flop = table.layers[i].tensor_flop.value_or(0), asked = 2 * static_cast<double>(profile.layers[i].macs);
    if (flop <= 0 || asked <= 0) continue;
    counted += flop;
    beyond += std::max(0.0, flop - asked);
    if (flop - asked > most) {
      most = flop - asked;
      worst = i;
    }
  }
  if (counted <= 0 || beyond < tiles_worth_saying * counted) return;
  const double asked = 2 * static_cast<double>(profile.layers[worst].macs);
  all.push_back(
      {"tile_overhang",
       fmt::format("Padded tiles: {} of what tensor cores multiply lies beyond the edges of layers", whole_percent(beyond / counted)),
       fmt::format("Most of it is in {}, which multiplies {:.2f} times what it needs. Batches and channels that are multiples of the "
                   "tile, or smaller tiles, waste less",
                   profile.layers[worst].name, (most + asked) / asked)});
}

void add_tensor_cores(const ProfileHeader& header, const Trace& trace, const GpuCeilings& gpu, std::vector<Explanation>& all) {
  const bool allowed = header.precision != "fp32" && gpu.architecture >= 70;
  Nanoseconds products = 0, without = 0;
  const Kernel* longest = nullptr;
  for (const Kernel& kernel : trace.kernels) {
    if (!is_product(kernel.family)) continue;
    products += kernel.ns();
    if (names_tensor_cores(kernel.name)) continue;
    without += kernel.ns();
    if (longest == nullptr || kernel.ns() > longest->ns()) longest = &kernel;
  }
  if (!allowed || longest == nullptr || static_cast<double>(without) < worth_saying * static_cast<double>(products)) return;
  all.push_back(
      {"tensor_cores_unused",
       fmt::format("Tensor cores unused: {} of the time of convolutions and GEMMs is in kernels whose names do not show their use, "
                   "though {} allows it",
                   whole_percent(static_cast<double>(without) / static_cast<double>(products)), header.precision),
       fmt::format("The longest is {}, {:.1f} us. A name is not proof; hardware counters are", kernel_words(longest->name),
                   static_cast<double>(longest->ns()) / 1e3)});
}

void add_power(const ProfileHeader& header, const Ceilings& ceilings, std::vector<Explanation>& all) {
  const ComputeCeiling* peak = peak_of(ceilings, header.precision);
  if (peak == nullptr || !peak->sustained || peak->sustained->limited_by.find("power") == std::string::npos) return;
  all.push_back(
      {"power_capped",
       fmt::format("Power-limited: this device sustains {1} of its short-term peak in {0}", peak->precision,
                   whole_percent(peak->sustained->per_s / peak->flop_per_s)),
       fmt::format("It reaches {:.0f} TFLOP/s in bursts and sustains {:.0f} at {:.2f} GHz and {:.0f} W ({})", peak->flop_per_s / 1e12,
                   peak->sustained->per_s / 1e12, peak->sustained->sm_hz / 1e9, peak->sustained->power_w, peak->sustained->limited_by)});
}

void add_far_layers(const ProfileRows& rows, std::vector<Explanation>& all) {
  int count = 0;
  double seconds = 0;
  for (const ProfileRow& row : rows.layers) {
    if (!row.of_roof || *row.of_roof >= far_from_roof || row.share < layer_worth_saying) continue;
    ++count;
    seconds += row.seconds - row.roof_seconds.value_or(0);
  }
  const auto distances = largest_distances(rows, 1);
  if (count == 0 || distances.empty() || rows.whole_seconds <= 0) return;
  const ProfileRow& worst = rows.layers[distances.front().layer];
  all.push_back({"far_layers",
                 fmt::format("{} layer{} far from {} bound; at the bound the whole would take {} less time", count,
                             count == 1 ? " is" : "s are", count == 1 ? "its" : "their", whole_percent(seconds / rows.whole_seconds)),
                 fmt::format("The furthest is {}: it takes {} ms, and {} ms at its {} bound", worst.name, number_text(worst.seconds * 1e3),
                             number_text(worst.roof_seconds.value_or(0) * 1e3), worst.bound)});
}

void add_between(const ProfileRows& rows, std::vector<Explanation>& all) {
  if (rows.layers.empty() || rows.whole_seconds <= 0 || rows.between_seconds < worth_saying * rows.whole_seconds) return;
  if (rows.copied_seconds > rows.between_seconds / 2) {
    all.push_back({"copies",
                   fmt::format("{} of the time goes to copies of inputs and outputs between host and device",
                               whole_percent(rows.copied_seconds / rows.whole_seconds)),
                   fmt::format("They take {:.3f} of {:.3f} ms; deepgap run leaves them out with --axis inputs=device",
                               rows.copied_seconds * 1e3, rows.whole_seconds * 1e3)});
    return;
  }
  all.push_back({"between_layers",
                 fmt::format("{} of the time is outside the layers", whole_percent(rows.between_seconds / rows.whole_seconds)),
                 fmt::format("It is {:.3f} of {:.3f} ms: submitting the batch, copying inputs and outputs, waiting between layers",
                             rows.between_seconds * 1e3, rows.whole_seconds * 1e3)});
}

}  // namespace

bool names_tensor_cores(const std::string& kernel) {
  static const std::regex words(
      "wgmma|mma|tensorop|nvjet|hmma|imma|qmma|s1688|s16816|16816|884|xmma|h1688|i16832|i8816|flash|fmha|^(stem|window)$",
      std::regex::ECMAScript | std::regex::optimize);
  return std::regex_search(kernel, words);
}

std::vector<Distance> largest_distances(const ProfileRows& rows, size_t most) {
  std::vector<Distance> distances;
  for (size_t i = 0; i < rows.layers.size(); ++i) {
    const ProfileRow& row = rows.layers[i];
    if (!row.roof_seconds || row.seconds <= *row.roof_seconds) continue;
    const double beyond = row.seconds - *row.roof_seconds;
    distances.push_back({i, beyond, rows.whole_seconds > 0 ? beyond / rows.whole_seconds : 0});
  }
  std::stable_sort(distances.begin(), distances.end(), [](const Distance& a, const Distance& b) { return a.seconds > b.seconds; });
  distances.resize(std::min(most, distances.size()));
  return distances;
}

std::vector<Explanation> explain(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows,
                                 const ShownCeilings& machine) {
  std::vector<Explanation> all;
  const auto& gpu = machine.ceilings.gpu;
  if (profile.trace) add_gaps(*profile.trace, all);
  add_bound(rows, all);
  add_far_layers(rows, all);
  add_between(rows, all);
  const WorkTable table = work_table(profile, machine.ceilings, header.precision);
  if (table.counted) add_counted(profile, table, all);
  if (table.counted) add_caches(table, all);
  if (table.counted) add_tile_overhang(profile, table, all);
  const bool counted = table.counted && add_counted_tensor_cores(header, profile, table, all);
  if (profile.trace && gpu) {
    if (!counted) add_tensor_cores(header, *profile.trace, *gpu, all);
    add_occupancy(*profile.trace, *gpu, all);
  }
  if (gpu) add_power(header, machine.ceilings, all);
  return all;
}

}  // namespace deepgap
