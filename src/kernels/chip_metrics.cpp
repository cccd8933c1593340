#include "kernels/chip_metrics.h"

#include "base/text.h"
#include "kernels/ncu_csv.h"
#include "kernels/profiler_params.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace deepgap {
namespace {

using namespace cupti;

void require_profiler(const Api& api) {
  if (api.cuptiProfilerHostInitialize == nullptr || api.cuptiProfilerHostGetSupportedChips == nullptr)
    throw Error(ErrorKind::refused, fmt::format("{} does not list counters: that of CUDA 12.6 or later does", api.path));
}

}  // namespace

std::vector<std::string> supported_chips(const Api& api) {
  require_profiler(api);
  SupportedChips chips;
  check(api, api.cuptiProfilerHostGetSupportedChips(&chips), "asking which chips it knows");
  return {chips.names, chips.names + chips.count};
}

std::vector<std::string> supported_metrics(const Api& api, const std::string& chip) {
  require_profiler(api);
  HostInitialize host;
  host.chip = chip.c_str();
  check(api, api.cuptiProfilerHostInitialize(&host), fmt::format("asking for the counters of a {}", chip));
  std::vector<std::string> names;
  for (const int type : {0, 1, 2}) {  // counters, ratios, throughputs
    BaseMetrics metrics;
    metrics.host = host.host;
    metrics.type = type;
    if (api.cuptiProfilerHostGetBaseMetrics(&metrics) == 0) names.insert(names.end(), metrics.names, metrics.names + metrics.count);
  }
  HostHandle done;
  done.host = host.host;
  static_cast<void>(api.cuptiProfilerHostDeinitialize(&done));
  return names;
}

std::vector<MetricGroup> wanted_metrics(const std::vector<std::string>& available) {
  const auto has = [&](const std::string& name) { return std::find(available.begin(), available.end(), name) != available.end(); };
  std::vector<MetricGroup> groups{{"bytes", {}}, {"first-level caches", {}}, {"lanes", {}}, {"tensor cores", {}}, {"activity", {}}};
  const auto add = [&](size_t group, const std::string& name, const char* way) {
    if (has(name)) groups[group].metrics.push_back(name + way);
  };
  add(0, "dram__bytes_read", ".sum");
  add(0, "dram__bytes_write", ".sum");
  if (groups[0].metrics.empty()) add(0, "dram__bytes", ".sum");
  add(0, "lts__t_bytes", ".sum");
  add(1, "l1tex__t_bytes", ".sum");
  for (const char* lanes : {"f", "h", "d"})
    for (const char* op : {"add", "mul", "fma"}) add(2, fmt::format("sm__sass_thread_inst_executed_op_{}{}_pred_on", lanes, op), ".sum");
  for (const std::string& name : available)
    if (name.starts_with("sm__ops_path_tensor_src_") && is_tensor_operations(name + ".sum", {})) groups[3].metrics.push_back(name + ".sum");
  add(4, "sm__cycles_active", ".avg");
  add(4, "sm__cycles_elapsed", ".avg");
  add(4, "sm__warps_active", ".avg.pct_of_peak_sustained_active");
  std::erase_if(groups, [](const MetricGroup& group) { return group.metrics.empty(); });
  return groups;
}

std::string chip_of(const std::string& card, const std::vector<std::string>& chips) {
  static const std::map<std::string, std::string> known{
      {"v100", "GV100"}, {"t4", "TU104"},  {"a100", "GA100"}, {"a30", "GA100"},  {"a10", "GA102"},  {"a40", "GA102"}, {"a2", "GA107"},
      {"l4", "AD104"},   {"l40", "AD102"}, {"l40s", "AD102"}, {"h100", "GH100"}, {"h200", "GH100"}, {"b200", "GB100"}};
  std::string lower = card, upper = card;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto found = known.find(lower);
  const std::string chip = found == known.end() ? upper : found->second;
  return std::find(chips.begin(), chips.end(), chip) == chips.end() ? std::string() : chip;
}

std::string ncu_command(const std::vector<MetricGroup>& groups) {
  std::vector<std::string> all{"gpu__time_duration.sum"};
  for (const MetricGroup& group : groups) all.insert(all.end(), group.metrics.begin(), group.metrics.end());
  return "ncu --csv --metrics " + join(all, ",");
}

}  // namespace deepgap
