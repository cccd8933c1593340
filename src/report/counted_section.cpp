#include "report/counted_section.h"

#include "base/text.h"
#include "kernels/families.h"
#include "profile/rows.h"
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

using Value = std::optional<double>;

constexpr size_t most_kernels = 25;

std::string cell(const std::string& text) { return "<td>" + html_escaped(text) + "</td>"; }
std::string number(const std::string& text) { return "<td class=\"num\">" + html_escaped(text) + "</td>"; }
std::string scaled(const Value& value, double unit, int digits) {
  return number(value ? fmt::format("{:.{}f}", *value / unit, digits) : "-");
}
std::string percent(const Value& share) { return number(share ? share_text(*share) : "-"); }

std::string heading(const std::string& first, const std::string& second) {
  std::string out = "<div class=\"scroll\"><table><tr><th>" + first + "</th>";
  if (!second.empty()) out += "<th class=\"num\">" + second + "</th>";
  for (const char* name :
       {"ms", "share", "DRAM GB/s", "GFLOP/s", "tensor TFLOP/s", "FLOP/byte", "with tensor cores", "busy", "warps", "of roof"})
    out += fmt::format("<th class=\"num\">{}</th>", name);
  return out + "<th>bound by</th></tr>\n";
}

std::string line(const WorkRow& row, bool has_count) {
  std::string out = "<tr>" + cell(shortened(short_kernel_name(row.name), 60));
  if (has_count) out += number(std::to_string(row.kernels));
  out += number(fmt::format("{:.3f}", row.seconds * 1e3)) + percent(row.share) + scaled(row.dram_bytes_per_s(), 1e9, 1) +
         scaled(row.flop_per_s(), 1e9, 1) + scaled(row.tensor_flop_per_s(), 1e12, 2) + scaled(row.intensity(), 1, 2) +
         scaled(row.intensity_with_tensor(), 1, 2) + percent(row.busy) + percent(row.occupancy) + percent(row.of_roof);
  return out + cell(row.bound) + "</tr>\n";
}

std::string slowest(const WorkTable& table, const std::string& what) {
  if (table.parts.empty()) return {};
  std::vector<const WorkRow*> order;
  for (const WorkRow& row : table.parts) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const WorkRow* a, const WorkRow* b) { return a->seconds > b->seconds; });
  order.resize(std::min(order.size(), most_kernels));
  std::string out = fmt::format("<details><summary>The {} slowest of {} {}, counted</summary>", order.size(), table.parts.size(), what);
  out += heading(what, "");
  for (const WorkRow* row : order) out += line(*row, false);
  return out + "</table></div></details>\n";
}

std::string levels(const WorkTable& table) {
  const std::vector<std::string> names = counted_levels(table);
  if (names.size() < 2) return {};
  std::string out = "<div class=\"scroll\"><table><tr><th>by level of memory</th>";
  for (const std::string& name : names)
    for (const char* column : {"", " FLOP/byte", " of roof"}) out += "<th class=\"num\">" + name + column + "</th>";
  out += "</tr>\n";
  const auto line_of = [&](const WorkRow& row) {
    out += "<tr>" + cell(row.name);
    for (const std::string& name : names) {
      const MemoryLevel* level = level_of(row, name);
      out += number(level == nullptr ? "-" : format_bytes(level->bytes)) + scaled(level == nullptr ? Value() : level->intensity, 1, 2) +
             percent(level == nullptr ? Value() : level->of_bandwidth);
    }
    out += "</tr>\n";
  };
  for (const WorkRow& row : table.families) line_of(row);
  line_of(table.network);
  return out +
         "</table></div>\n<p class=\"aside\">FLOP/byte are of all operations, tensor cores' among them; of roof: of the bandwidth that "
         "was measured of the level. L1 are bytes that loads and stores of threads request from first-level caches, without shared "
         "memory.</p>\n";
}

std::string note(const std::string& text) { return "<p class=\"aside\">" + html_escaped(text) + ".</p>\n"; }

}  // namespace

std::string counted_table(const LayerProfile& profile, const WorkTable& table) {
  if (!table.counted) return {};
  std::string out = heading("family, counted", profile.counters->by_kernel ? "kernels" : "layers");
  for (const WorkRow& row : table.families) out += line(row, true);
  return out + line(table.network, true) + "</table></div>\n";
}

std::string counted_section(const LayerProfile& profile, const WorkTable& table) {
  if (!profile.counters) return {};
  const CountedRun& run = *profile.counters;
  if (!table.counted)
    return "<h2>Counters</h2>\n" +
           note("Counters are not available: " + run.missing + ". Bytes and operations here are counted from the network's graph");
  const std::string what = run.by_kernel ? "kernels" : "layers";
  std::string out =
      "<h2>Counted by the hardware</h2>\n<p class=\"aside\">GFLOP/s and FLOP/byte are of threads in FP32 (fadd + fmul + 2 ffma) and of "
      "bytes of "
      "DRAM; tensor cores' operations stand beside them, and are added where it says so. Families are of kernels run one by one, the "
      "network is a "
      "plain run.</p>\n";
  out += counted_table(profile, table);
  const WorkRow& network = table.network;
  if (network.dram_read_bytes)
    out += note(fmt::format("One batch: DRAM {} read and {} written, second-level cache {} read and {} written",
                            format_bytes(*network.dram_read_bytes), format_bytes(network.dram_written_bytes.value_or(0)),
                            format_bytes(network.l2_read_bytes.value_or(0)), format_bytes(network.l2_written_bytes.value_or(0))));
  out += levels(table);
  for (const std::string& one : run.notes) out += note("Note: " + one);
  return out + slowest(table, what);
}

}  // namespace deepgap
