#include "kernels/counter_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

struct Family {
  int architecture;
  const char *dram_read, *dram_written;     // dram__bytes...
  std::vector<const char*> tensor_sources;  // sm__ops_path_tensor_src_...
};

const std::vector<Family>& families() {
  static const std::vector<Family> all{
      {70, "read", "write", {"fp16_dst_fp16", "fp16_dst_fp32"}},
      {75, "read", "write", {"fp16_bf16_tf32_dst_fp32", "fp16_dst_fp16", "int8"}},
      {80, "read", "write", {"bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "fp64", "int8", "tf32_dst_fp32"}},
      {86, "read", "write", {"bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "int8", "tf32_dst_fp32"}},
      {89, "read", "write", {"bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "fp8", "int8", "tf32_dst_fp32"}},
      {90, "read", "write", {"bf16_dst_fp32", "fp16", "fp64", "fp8", "int8", "tf32_dst_fp32"}},
      {100,
       "read",
       "write",
       {"bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "fp4_dst_fp32", "fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32", "fp64", "int8",
        "tf32_dst_fp32"}},
      {120,
       "op_read",
       "op_write",
       {"bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "fp4_dst_fp32", "fp4_fp6_dst_fp16", "fp4_fp6_dst_fp32", "fp8_dst_fp16",
        "fp8_dst_fp32", "int8", "tf32_dst_fp32"}}};
  return all;
}

// "dram__bytes_read" of "dram__bytes_read.sum".
std::string base_name(const std::string& metric) { return metric.substr(0, metric.find('.')); }

}  // namespace

std::vector<MetricGroup> counter_groups(int architecture) {
  const auto& all = families();
  const auto family = std::find_if(all.begin(), all.end(), [&](const Family& one) { return one.architecture == architecture; });
  if (family == all.end()) return {};
  MetricGroup bytes{"bytes", {}}, lanes{"lanes", {}}, tensor{"tensor", {}};
  bytes.metrics = {fmt::format("dram__bytes_{}.sum", family->dram_read),
                   fmt::format("dram__bytes_{}.sum", family->dram_written),
                   "lts__t_sectors_op_read.sum",
                   "lts__t_sectors_op_write.sum",
                   "sm__cycles_active.avg",
                   "sm__cycles_elapsed.max",
                   "sm__warps_active.avg.pct_of_peak_sustained_active"};
  for (const char* type : {"f", "h", "d"})
    for (const char* op : {"add", "mul", "fma"})
      lanes.metrics.push_back(fmt::format("sm__sass_thread_inst_executed_op_{}{}_pred_on.sum", type, op));
  for (const char* source : family->tensor_sources) tensor.metrics.push_back(fmt::format("sm__ops_path_tensor_src_{}.sum", source));
  return {bytes, {"l1", {"l1tex__t_bytes.sum"}}, lanes, tensor};
}

std::vector<MetricGroup> counter_groups_of(int architecture, const std::vector<std::string>& available) {
  std::vector<MetricGroup> groups = counter_groups(architecture);
  if (groups.empty()) {
    groups = wanted_metrics(available);
    // Its words are those of `import ncu`.
    for (MetricGroup& group : groups)
      if (group.what == "tensor cores")
        group.what = "tensor";
      else if (group.what == "first-level caches")
        group.what = "l1";
  }
  const std::set<std::string> names(available.begin(), available.end());
  for (MetricGroup& group : groups) std::erase_if(group.metrics, [&](const std::string& m) { return !names.contains(base_name(m)); });
  std::erase_if(groups, [](const MetricGroup& group) { return group.metrics.empty(); });
  return groups;
}

}  // namespace deepgap
