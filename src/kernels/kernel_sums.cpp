#include "kernels/ncu_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace deepgap {
namespace {

double metric(const KernelCounters& kernel, const std::string& name) {
  const auto found = kernel.metrics.find(name);
  return found == kernel.metrics.end() ? 0 : found->second;
}
bool has(const KernelCounters& kernel, const std::string& name) { return kernel.metrics.contains(name); }

// adds + multiplications + twice both at once, of instructions named with `letter`; `width`: numbers that one instruction of a thread works
// on.
double lanes(const KernelCounters& kernel, char letter, double width, bool& counted) {
  const auto count = [&](const char* op) {
    for (const char* unit : {"sm__sass_thread_inst_executed_op_", "smsp__sass_thread_inst_executed_op_"}) {
      const std::string name = fmt::format("{}{}{}_pred_on.sum", unit, letter, op);
      if (has(kernel, name)) {
        counted = true;
        return metric(kernel, name);
      }
    }
    return 0.0;
  };
  return width * (count("add") + count("mul") + 2 * count("fma"));
}

// The first of them that was counted; newer chips say op_read.
double one_of(const KernelCounters& kernel, const char* name, const char* other) {
  return has(kernel, name) ? metric(kernel, name) : metric(kernel, other);
}

void add_bytes(const KernelCounters& kernel, KernelSums& sums) {
  constexpr double sector_bytes = 32;
  const bool apart = has(kernel, "dram__bytes_read.sum") || has(kernel, "dram__bytes_write.sum") ||
                     has(kernel, "dram__bytes_op_read.sum") || has(kernel, "dram__bytes_op_write.sum");
  const double read = one_of(kernel, "dram__bytes_read.sum", "dram__bytes_op_read.sum");
  const double written = one_of(kernel, "dram__bytes_write.sum", "dram__bytes_op_write.sum");
  sums.dram_read_bytes += read;
  sums.dram_written_bytes += written;
  sums.dram_bytes += apart ? read + written : metric(kernel, "dram__bytes.sum");
  sums.with_dram += apart || has(kernel, "dram__bytes.sum") ? 1 : 0;
  const double near_read = sector_bytes * metric(kernel, "lts__t_sectors_op_read.sum");
  const double near_written = sector_bytes * metric(kernel, "lts__t_sectors_op_write.sum");
  sums.l2_read_bytes += near_read;
  sums.l2_written_bytes += near_written;
  sums.l2_bytes += has(kernel, "lts__t_bytes.sum") ? metric(kernel, "lts__t_bytes.sum") : near_read + near_written;
  sums.l1_bytes += metric(kernel, "l1tex__t_bytes.sum");
  sums.with_l1 += has(kernel, "l1tex__t_bytes.sum") ? 1 : 0;
}

void add_activity(const KernelCounters& kernel, KernelSums& sums) {
  constexpr const char* warps = "sm__warps_active.avg.pct_of_peak_sustained_active";
  const double active = metric(kernel, "sm__cycles_active.avg");
  const double all = one_of(kernel, "sm__cycles_elapsed.max", "sm__cycles_elapsed.avg");
  if (all <= 0 || !has(kernel, warps)) return;
  ++sums.with_activity;
  sums.active_cycles += active;
  sums.cycles += all;
  sums.warp_cycles += active * metric(kernel, warps);
}

}  // namespace

bool is_tensor_operations(const std::string& name, const std::map<std::string, double>& all) {
  constexpr std::string_view parent = "sm__ops_path_tensor_src_", child = "sm__ops_path_tensor_op_";
  const bool plain = name.ends_with(".sum") && name.find("sparsity") == std::string::npos && name.find("realtime") == std::string::npos;
  if (!plain) return false;
  if (name.starts_with(parent)) return true;
  if (!name.starts_with(child)) return false;
  // A part counts only where nothing that holds it was counted.
  return std::none_of(all.begin(), all.end(),
                      [&](const auto& other) { return other.first.starts_with(parent) && is_tensor_operations(other.first, {}); });
}

KernelSums sums_of(const std::vector<KernelCounters>& kernels) {
  KernelSums sums;
  for (const KernelCounters& kernel : kernels) {
    ++sums.kernels;
    const bool traced = kernel.traced_seconds > 0;
    sums.seconds += traced ? kernel.traced_seconds : metric(kernel, "gpu__time_duration.sum");
    sums.timed += traced || has(kernel, "gpu__time_duration.sum") ? 1 : 0;
    add_bytes(kernel, sums);
    add_activity(kernel, sums);
    bool has_lanes = false, has_products = false;
    sums.fp32_flop += lanes(kernel, 'f', 1, has_lanes);
    sums.half_flop += lanes(kernel, 'h', 2, has_lanes);
    sums.double_flop += lanes(kernel, 'd', 1, has_lanes);
    for (const auto& [name, value] : kernel.metrics) {
      if (!is_tensor_operations(name, kernel.metrics)) continue;
      sums.tensor_flop += value;
      has_products = true;
    }
    sums.with_flop += has_lanes ? 1 : 0;
    sums.with_tensor += has_products ? 1 : 0;
  }
  return sums;
}

}  // namespace deepgap
