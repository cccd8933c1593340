#include "profile/counted.h"

#include "base/text.h"
#include "kernels/families.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

using nlohmann::json;

std::string rate(bool known, double amount, double seconds, double unit) {
  return known && seconds > 0 ? fmt::format("{:.1f}", amount / seconds / unit) : std::string("-");
}

// FLOP a byte as the fourth study defines it, without tensor cores; and with them.
std::string intensity(bool known, double flop, const KernelSums& sums) {
  return known && sums.has_dram() && sums.dram_bytes > 0 ? fmt::format("{:.2f}", flop / sums.dram_bytes) : std::string("-");
}

std::string line(const std::string& name, const KernelSums& sums, double all_seconds) {
  return trim(fmt::format("{:<40} {:>7} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}", name.substr(0, 40), sums.kernels,
                          sums.has_seconds() ? fmt::format("{:.3f}", sums.seconds * 1e3) : "-",
                          sums.has_seconds() && all_seconds > 0 ? fmt::format("{:.1f} %", 100 * sums.seconds / all_seconds) : "-",
                          rate(sums.has_dram() && sums.has_seconds(), sums.dram_bytes, sums.seconds, 1e9),
                          rate(sums.has_flop() && sums.has_seconds(), sums.fp32_flop, sums.seconds, 1e9),
                          rate(sums.has_tensor() && sums.has_seconds(), sums.tensor_flop, sums.seconds, 1e12),
                          intensity(sums.has_flop(), sums.fp32_flop, sums),
                          intensity(sums.has_flop() || sums.has_tensor(), sums.flop(), sums))) +
         "\n";
}

json optional(bool known, double value) { return known ? json(value) : json(nullptr); }

json sums_json(const KernelSums& sums) {
  const bool bytes = sums.has_dram() && sums.dram_bytes > 0;
  return {{"kernels", sums.kernels},
          {"ms", optional(sums.has_seconds(), sums.seconds * 1e3)},
          {"dram_bytes", optional(sums.has_dram(), sums.dram_bytes)},
          {"l2_bytes", optional(sums.l2_bytes > 0, sums.l2_bytes)},
          {"l1_bytes", optional(sums.has_l1(), sums.l1_bytes)},
          {"fp32_flop", optional(sums.has_flop(), sums.fp32_flop)},
          {"fp16_flop", optional(sums.has_flop(), sums.half_flop)},
          {"fp64_flop", optional(sums.has_flop(), sums.double_flop)},
          {"tensor_flop", optional(sums.has_tensor(), sums.tensor_flop)},
          {"dram_gb_per_s", optional(sums.has_dram() && sums.seconds > 0, sums.seconds > 0 ? sums.dram_bytes / sums.seconds / 1e9 : 0)},
          {"gflop_per_s", optional(sums.has_flop() && sums.seconds > 0, sums.seconds > 0 ? sums.fp32_flop / sums.seconds / 1e9 : 0)},
          {"intensity", optional(sums.has_flop() && bytes, bytes ? sums.fp32_flop / sums.dram_bytes : 0)},
          {"intensity_with_tensor_cores",
           optional((sums.has_flop() || sums.has_tensor()) && bytes, bytes ? sums.flop() / sums.dram_bytes : 0)}};
}

}  // namespace

std::vector<CountedFamily> counted_families(const std::vector<KernelCounters>& kernels) {
  std::map<std::string, std::vector<KernelCounters>> members;
  for (const KernelCounters& kernel : kernels) members[kernel.family].push_back(kernel);
  std::vector<CountedFamily> families;
  for (const auto& [family, of_it] : members) families.push_back({family, sums_of(of_it)});
  std::stable_sort(families.begin(), families.end(), [](const CountedFamily& a, const CountedFamily& b) {
    return a.sums.seconds != b.sums.seconds ? a.sums.seconds > b.sums.seconds : a.sums.kernels > b.sums.kernels;
  });
  return families;
}

std::string counted_text(const NcuFile& file, const std::string& title, size_t top) {
  const KernelSums all = sums_of(file.kernels);
  std::string text = fmt::format("{}: {} kernels, counted by Nsight Compute\n\n", title, file.kernels.size());
  const auto heading = [](const std::string& first) {
    return fmt::format("{:<40} {:>7} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}\n", first, "kernels", "ms", "share", "DRAM GB/s", "GFLOP/s",
                       "tensor T", "FLOP/byte", "with t.c.");
  };
  text += heading("family");
  for (const CountedFamily& family : counted_families(file.kernels)) text += line(family.family, family.sums, all.seconds);
  text += line("all", all, all.seconds);
  if (top > 0) {
    std::vector<const KernelCounters*> order;
    for (const KernelCounters& kernel : file.kernels) order.push_back(&kernel);
    const auto seconds = [](const KernelCounters* kernel) { return sums_of({*kernel}).seconds; };
    std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return seconds(a) > seconds(b); });
    order.resize(std::min(order.size(), top));
    text += "\n" + heading("slowest kernels");
    for (const KernelCounters* kernel : order) text += line(short_kernel_name(kernel->kernel), sums_of({*kernel}), all.seconds);
  }
  text +=
      "\nGFLOP/s and FLOP/byte are of FP32 lanes (fadd + fmul + 2 ffma); 'tensor T' are 10^12 operations a second on tensor cores, and "
      "'with t.c.' "
      "adds these.\n";
  if (!all.has_tensor()) text += "Note: tensor-core operations were not counted, and are missing from these figures.\n";
  if (!all.has_dram()) text += "Note: DRAM bytes were not counted.\n";
  if (!all.has_seconds()) text += "Note: times were not counted: add gpu__time_duration.sum.\n";
  for (const std::string& note : file.notes) text += fmt::format("Note: {}.\n", note);
  return text + "Note: ncu may lock clocks and flush caches, so its times are not those of a plain run.\n";
}

json counted_json(const NcuFile& file, const std::string& title) {
  json families = json::array(), kernels = json::array();
  for (const CountedFamily& family : counted_families(file.kernels)) {
    families.push_back(sums_json(family.sums));
    families.back()["family"] = family.family;
  }
  for (const KernelCounters& kernel : file.kernels)
    kernels.push_back(
        {{"name", kernel.kernel}, {"family", kernel.family}, {"grid", kernel.grid}, {"block", kernel.block}, {"metrics", kernel.metrics}});
  return {{"source", title},
          {"counted_by", "Nsight Compute"},
          {"all", sums_json(sums_of(file.kernels))},
          {"families", families},
          {"kernels", kernels},
          {"not_available", file.not_available},
          {"notes", file.notes}};
}

}  // namespace deepgap
