#include "base/quantity.h"
#include "base/text.h"
#include "profile/rows.h"
#include "profile/work_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace deepgap {
namespace {

using nlohmann::json;
using Value = std::optional<double>;

constexpr size_t name_width = 34;

std::string scaled(const Value& value, double unit, int digits) {
  return value ? fmt::format("{:.{}f}", *value / unit, digits) : std::string("-");
}
std::string percent(const Value& share) { return share ? share_text(*share) : std::string("-"); }

std::string heading(const std::string& first, const std::string& second) {
  return fmt::format("{:<{}} {:>7} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>8}  {}\n", first, name_width, second, "ms",
                     "share", "DRAM GB/s", "GFLOP/s", "tensor T", "FLOP/byte", "with t.c.", "busy", "warps", "of roof", "bound by");
}
std::string line(const WorkRow& row) {
  return trim(fmt::format("{:<{}} {:>7} {:>9.3f} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>8}  {}", row.name.substr(0, name_width),
                          name_width, row.kernels, row.seconds * 1e3, percent(row.share), scaled(row.dram_bytes_per_s(), 1e9, 1),
                          scaled(row.flop_per_s(), 1e9, 1), scaled(row.tensor_flop_per_s(), 1e12, 2), scaled(row.intensity(), 1, 2),
                          scaled(row.intensity_with_tensor(), 1, 2), percent(row.busy), percent(row.occupancy), percent(row.of_roof),
                          row.bound)) +
         "\n";
}

std::string slowest(const WorkTable& table, size_t top) {
  std::vector<const WorkRow*> order;
  for (const WorkRow& row : table.parts) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const WorkRow* a, const WorkRow* b) { return a->seconds > b->seconds; });
  order.resize(std::min(order.size(), top));
  std::string text;
  for (const WorkRow* row : order) {
    WorkRow shown = *row;
    shown.name = short_kernel_name(row->name);
    text += line(shown);
  }
  return text;
}

std::string bytes_line(const WorkRow& network) {
  if (!network.dram_read_bytes) return {};
  return fmt::format("network: DRAM {} read, {} written; second-level cache {} read, {} written\n", format_bytes(*network.dram_read_bytes),
                     format_bytes(*network.dram_written_bytes), format_bytes(network.l2_read_bytes.value_or(0)),
                     format_bytes(network.l2_written_bytes.value_or(0)));
}

// The hierarchical roofline in figures: what each level moves for the same operations.
std::string levels_text(const WorkTable& table) {
  const std::vector<std::string> names = counted_levels(table);
  if (names.size() < 2) return {};
  std::string text = fmt::format("\n{:<{}}", "by level of memory", name_width);
  for (const std::string& name : names) text += fmt::format(" {:>12} {:>9} {:>8}", name, "FLOP/byte", "of roof");
  text += "\n";
  const auto line_of = [&](const WorkRow& row) {
    std::string cells = fmt::format("{:<{}}", row.name.substr(0, name_width), name_width);
    for (const std::string& name : names) {
      const MemoryLevel* level = level_of(row, name);
      cells += fmt::format(" {:>12} {:>9} {:>8}", level == nullptr ? "-" : format_bytes(level->bytes),
                           level == nullptr ? "-" : scaled(level->intensity, 1, 2), level == nullptr ? "-" : percent(level->of_bandwidth));
    }
    return trim(cells) + "\n";
  };
  for (const WorkRow& row : table.families) text += line_of(row);
  text += line_of(table.network);
  return text +
         "FLOP/byte here are all operations, tensor cores' among them; 'of roof' is of the bandwidth measured of that level. L1 are bytes "
         "that "
         "loads "
         "and stores of threads request from first-level caches, without shared memory and copies into it.\n";
}

// Compares what the hardware did with what the network needs: tiles at an edge and algorithms compute more or less, caches hold values or
// do not.
std::string graph_line(const LayerProfile& profile, const WorkRow& network) {
  const GraphWork graph = graph_work(profile);
  std::vector<std::string> parts;
  if (graph.flop > 0 && network.tensor_flop && network.fp32_flop)
    parts.push_back(fmt::format("{} operations where the graph has {} ({:.2f} times)", short_text(*network.all_flop(), 4),
                                short_text(graph.flop, 4), *network.all_flop() / graph.flop));
  if (graph.bytes > 0 && network.bytes)
    parts.push_back(fmt::format("{} of DRAM where the graph moves {} ({:.2f} times)", format_bytes(*network.bytes),
                                format_bytes(graph.bytes), *network.bytes / graph.bytes));
  return parts.empty() ? std::string() : fmt::format("counted: {}\n", join(parts, "; "));
}

std::string known_line(const CountedRun& run) {
  std::vector<std::string> parts;
  for (const KnownCount& one : run.known)
    parts.push_back(fmt::format("{} {} of {}", one.what, short_text(one.counted, 5), short_text(one.expected, 5)));
  return parts.empty() ? std::string() : fmt::format("counted first, on kernels with known counts: {}\n", join(parts, "; "));
}

json value(const Value& of) { return of ? json(*of) : json(nullptr); }

json levels_json(const WorkRow& row) {
  json levels = json::array();
  for (const MemoryLevel& level : row.levels)
    levels.push_back({{"level", level.name},
                      {"bytes", level.bytes},
                      {"intensity_with_tensor_cores", value(level.intensity)},
                      {"of_bandwidth", value(level.of_bandwidth)}});
  return levels;
}

json row_json(const WorkRow& row, bool counted) {
  json object{{"name", row.name},
              {counted ? "kernels" : "layers", row.kernels},
              {"ms", row.seconds * 1e3},
              {"share", row.share},
              {"bytes", value(row.bytes)},
              {counted ? "fp32_flop" : "flop", value(row.fp32_flop)},
              {counted ? "dram_gb_per_s" : "gb_per_s", value(row.dram_bytes_per_s() ? Value(*row.dram_bytes_per_s() / 1e9) : Value())},
              {"gflop_per_s", value(row.flop_per_s() ? Value(*row.flop_per_s() / 1e9) : Value())},
              {"intensity", value(row.intensity())}};
  if (!counted) return object;
  object.update({{"dram_read_bytes", value(row.dram_read_bytes)},
                 {"dram_written_bytes", value(row.dram_written_bytes)},
                 {"l2_read_bytes", value(row.l2_read_bytes)},
                 {"l2_written_bytes", value(row.l2_written_bytes)},
                 {"fp16_fp64_flop", value(row.other_flop)},
                 {"l1_bytes", value(row.l1_bytes)},
                 {"levels", levels_json(row)},
                 {"tensor_flop", value(row.tensor_flop)},
                 {"intensity_with_tensor_cores", value(row.intensity_with_tensor())},
                 {"busy", value(row.busy)},
                 {"occupancy", value(row.occupancy)},
                 {"of_roof", value(row.of_roof)},
                 {"bound", row.bound.empty() ? json(nullptr) : json(row.bound)}});
  if (!row.layer.empty()) object["layer"] = row.layer;
  return object;
}

}  // namespace

std::string work_text(const LayerProfile& profile, const WorkTable& table, size_t top) {
  if (!profile.counters) return {};
  const CountedRun& run = *profile.counters;
  std::string text = "\n";
  if (!table.counted) {
    text += fmt::format("counters: not available: {}\n", run.missing);
    if (table.network.bytes)
      text += "Bytes and operations here are counted from the network's graph: each value moved once, multiply and add as two.\n";
    return text;
  }
  text += heading("counted by the hardware", run.by_kernel ? "kernels" : "layers");
  for (const WorkRow& row : table.families) text += line(row);
  text += line(table.network);
  if (top > 0 && !table.parts.empty()) {
    text += "\n" + heading(run.by_kernel ? "slowest kernels, counted" : "slowest layers, counted", "");
    text += slowest(table, top);
  }
  text += "\n" + bytes_line(table.network) + graph_line(profile, table.network) + known_line(run);
  text +=
      "GFLOP/s and FLOP/byte are of threads in FP32 (fadd + fmul + 2 ffma) and bytes of DRAM; 'tensor T' are 10^12 operations a second of "
      "tensor cores, 'with t.c.' adds these and FP16's. Families are of kernels run one by one, the network is a plain run.\n";
  text += levels_text(table);
  for (const std::string& note : run.notes) text += fmt::format("Note: {}.\n", note);
  return text;
}

json work_json(const LayerProfile& profile, const WorkTable& table) {
  if (!profile.counters) return nullptr;
  const CountedRun& run = *profile.counters;
  json families = json::array(), parts = json::array(), layers = json::array(), known = json::array();
  for (const WorkRow& row : table.families) families.push_back(row_json(row, table.counted));
  for (const WorkRow& row : table.parts) parts.push_back(row_json(row, true));
  for (const WorkRow& row : table.layers) layers.push_back(row_json(row, true));
  for (const KnownCount& one : run.known)
    known.push_back({{"what", one.what}, {"expected", one.expected}, {"counted", one.counted}, {"right", one.is_right()}});
  json object{{"source", table.counted ? "hardware counters" : "the network's graph"},
              {"missing", run.missing.empty() ? json(nullptr) : json(run.missing)},
              {"families", families},
              {"network", row_json(table.network, table.counted)},
              {"graph", {{"flop", graph_work(profile).flop}, {"bytes", graph_work(profile).bytes}}}};
  if (table.counted)
    object.update({{"chip", run.chip}, {"passes", run.passes}, {"known", known}, {"notes", run.notes}, {"layers", layers}});
  if (run.by_kernel) object["kernels"] = parts;
  return object;
}

}  // namespace deepgap
