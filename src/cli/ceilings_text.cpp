#include "cli/ceilings_text.h"

#include "base/text.h"
#include "ceilings/data_sheet.h"
#include "run/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace deepgap {
namespace {

using nlohmann::json;

std::string rate(double per_s, const char* unit) {
  if (per_s >= 1e12) return fmt::format("{:.2f} T{}", per_s / 1e12, unit);
  return fmt::format("{:.1f} G{}", per_s / 1e9, unit);
}

std::string state(const std::optional<Sustained>& sustained) {
  if (!sustained || sustained->sm_hz <= 0) return {};
  std::string text = fmt::format("{:.2f} GHz", sustained->sm_hz / 1e9);
  if (sustained->power_w > 0) text += fmt::format(", {:.0f} W", sustained->power_w);
  if (!sustained->limited_by.empty() && sustained->limited_by != "none") text += ", " + sustained->limited_by;
  return text;
}

// The rows of the table, with the columns that a narrow terminal loses last in front.
class CeilingRows {
 public:
  // `sheet`: what the maker says of the same; 0: nothing.
  void add(const std::string& what, double best, double median, const std::optional<Sustained>& sustained, double sheet, const char* unit) {
    const std::string kept = sustained ? rate(sustained->per_s, unit) : std::string();
    const std::string said = sheet > 0 ? fmt::format("{} ({:.0f} %)", rate(sheet, unit), 100 * best / sheet) : std::string();
    add({what, rate(best, unit), rate(median, unit), kept, said, state(sustained)});
  }
  void add(const std::string& what, double best, const char* unit) { add({what, rate(best, unit), "", "", "", ""}); }

  std::string text(size_t width) const {
    std::vector<TextColumn> columns = columns_;
    // Columns without a value say nothing.
    std::erase_if(columns, [](const TextColumn& column) {
      return std::all_of(column.cells.begin(), column.cells.end(), [](const std::string& cell) { return cell.empty(); });
    });
    return fitted_table(columns, width, {{"measured peak", 22}, {"median"}, {"sustained at"}, {"sustained"}, {"measured peak", 16}});
  }

 private:
  void add(const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) columns_[i].cells.push_back(cells[i]);
  }

  std::vector<TextColumn> columns_{{"measured peak", false, {}}, {"best", true, {}},       {"median", true, {}},
                                   {"sustained", true, {}},      {"data sheet", true, {}}, {"sustained at", false, {}}};
};

double said_of(const std::optional<DataSheet>& sheet, const ComputeCeiling& compute, const Ceilings& ceilings) {
  // A sheet's figure is that of the fastest unit.
  if (!sheet || peak_of(ceilings, compute.precision) != &compute) return 0;
  const auto found = sheet->flop_per_s.find(compute.precision);
  return found == sheet->flop_per_s.end() ? 0 : found->second;
}

// What could not be measured is listed with the rest that was left out.
void add_gpu(const GpuCeilings& gpu, CeilingRows& rows) {
  if (gpu.l1_bytes_per_s > 0) rows.add("first-level caches", gpu.l1_bytes_per_s, "B/s");
  if (gpu.shared_bytes_per_s > 0) rows.add("shared memory", gpu.shared_bytes_per_s, "B/s");
  rows.add("host to device", gpu.to_device_bytes_per_s, "B/s");
  rows.add("device to host", gpu.to_host_bytes_per_s, "B/s");
}

std::string launch_text(const LaunchCeiling& launch) {
  return fmt::format(
      "a launch: {:.2f} us of the host, {:.2f} us of the device, {:.2f} us in a CUDA graph, {:.2f} us there and back; "
      "{:.2f} us between two events\n",
      launch.issue_s * 1e6, launch.in_stream_s * 1e6, launch.in_graph_s * 1e6, launch.round_trip_s * 1e6, launch.event_s * 1e6);
}

}  // namespace

std::string ceilings_table(const std::string& device, const ShownCeilings& machine, size_t width) {
  if (!machine.missing.empty()) return wrapped_lines(fmt::format("no measured peaks of {}: {}\n", device, machine.missing), width);
  const Ceilings& ceilings = machine.ceilings;
  const auto sheet = ceilings.gpu ? data_sheet_of(ceilings.gpu->device) : std::nullopt;
  const std::string who =
      ceilings.gpu ? ceilings.gpu->device : fmt::format("{} thread{}", ceilings.threads, ceilings.threads == 1 ? "" : "s");
  CeilingRows rows;
  for (const ComputeCeiling& compute : ceilings.compute)
    rows.add(fmt::format("{} {}", compute.precision, compute.kernel), compute.flop_per_s, compute.median_flop_per_s, compute.sustained,
             said_of(sheet, compute, ceilings), "FLOP/s");
  for (const MemoryCeiling& memory : ceilings.memory) {
    const bool own = &memory == &ceilings.memory.back();
    rows.add(fmt::format("through {}", format_bytes(static_cast<double>(memory.footprint_bytes))), memory.bytes_per_s(),
             memory.median_bytes_per_s, memory.sustained, own && sheet ? sheet->memory_bytes_per_s : 0, "B/s");
    if (ceilings.gpu && own) rows.add("  a copy of it", memory.triad_bytes_per_s, "B/s");
  }
  if (ceilings.gpu) add_gpu(*ceilings.gpu, rows);
  std::string text = ceilings.gpu ? launch_text(ceilings.gpu->launch) : "";
  for (const std::string& words : ceilings.left_out) text += fmt::format("left out: {}\n", words);
  if (sheet) text += fmt::format("data sheet: {}, {:.0f} W: {}\n", sheet->variant, sheet->power_w, sheet->source);
  if (!is_undisturbed(ceilings)) text += "the machine was busy: these may be too low, and are measured again the next time\n";
  const std::string measured = machine.measured ? fmt::format("measured in {:.1f} s", ceilings.seconds) : "measured before";
  return wrapped_lines(fmt::format("{}: {}, {}\n", device, who, measured), width) + rows.text(width) + wrapped_lines(text, width);
}

json ceilings_table_json(const std::string& device, const ShownCeilings& machine) {
  return {{"device", device},
          {"ceilings", machine.missing.empty() ? ceilings_to_json(machine.ceilings) : json(nullptr)},
          {"missing", machine.missing.empty() ? json(nullptr) : json(machine.missing)},
          {"data_sheet", data_sheet_json(machine.ceilings)},
          {"measured_now", machine.measured}};
}

}  // namespace deepgap
