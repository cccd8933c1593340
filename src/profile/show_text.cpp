#include "profile/show.h"

#include "base/quantity.h"
#include "base/text.h"
#include "ceilings/data_sheet.h"
#include "profile/explanations.h"
#include "profile/show_trace.h"
#include "profile/work_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

// Besides the name and the operators.
constexpr size_t number_columns = 57;

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }
std::string or_dash(const std::optional<double>& value, const auto& format) { return value ? format(*value) : std::string("-"); }

// Cut in the middle: layers that belong together begin alike.
std::string cut(const std::string& text, size_t width) {
  if (text.size() <= width || width < 5) return text;
  const size_t end = (width - 2) / 2, begin = width - 2 - end;
  return text.substr(0, begin) + ".." + text.substr(text.size() - end);
}

std::string line(const std::string& name, size_t name_width, const std::string& operators, size_t operator_width, const ProfileRow& row) {
  const auto giga = [](double rate) { return fmt::format("{:.1f}", rate / 1e9); };
  const auto bytes = [](double amount) { return format_bytes(amount); };
  return trim(fmt::format("{:<{}} {:<{}} {:>9} {:>7} {:>9} {:>9} {:>8}  {}", cut(name, name_width), name_width,
                          cut(operators, operator_width), operator_width, milliseconds(row.seconds), share_text(row.share),
                          or_dash(row.flop_per_s, giga), or_dash(row.bytes, bytes), or_dash(row.of_roof, share_text), row.bound)) +
         "\n";
}

std::string heading(const std::string& name, size_t name_width, const std::string& operators, size_t operator_width) {
  return fmt::format("{:<{}} {:<{}} {:>9} {:>7} {:>9} {:>9} {:>8}  {}\n", name, name_width, operators, operator_width, "ms", "share",
                     "GFLOP/s", "bytes", "of roof", "bound by");
}

std::string when_text(const ShownCeilings& machine) {
  return machine.measured ? fmt::format("measured in {:.1f} s", machine.ceilings.seconds) : std::string("measured before");
}

std::string sustained_text(const Sustained& sustained) {
  std::string text = fmt::format("{:.0f} sustained", sustained.per_s / 1e12);
  if (sustained.sm_hz > 0) text += fmt::format(" at {:.2f} GHz", sustained.sm_hz / 1e9);
  if (sustained.power_w > 0) text += fmt::format(", {:.0f} W", sustained.power_w);
  if (!sustained.limited_by.empty() && sustained.limited_by != "none") text += fmt::format(", held back by {}", sustained.limited_by);
  return text;
}

std::string tera(const ComputeCeiling& compute) {
  std::string text = fmt::format("{} {:.0f} TFLOP/s ({}", compute.precision, compute.flop_per_s / 1e12, compute.kernel);
  if (compute.sustained) text += "; " + sustained_text(*compute.sustained);
  return text + ")";
}

std::string data_sheet_text(const std::string& precision, const Ceilings& ceilings) {
  const auto sheet = data_sheet_of(ceilings.gpu->device);
  if (!sheet) return {};
  std::string text = fmt::format("data sheet of the {}: ", sheet->variant);
  if (const auto found = sheet->flop_per_s.find(precision); found != sheet->flop_per_s.end())
    text += fmt::format("{} {:.0f} TFLOP/s, ", precision, found->second / 1e12);
  return text + fmt::format("{:.2f} TB/s, {:.0f} W; {}\n", sheet->memory_bytes_per_s / 1e12, sheet->power_w, sheet->source);
}

std::string gpu_ceilings_text(const std::string& precision, const ShownCeilings& machine) {
  const Ceilings& ceilings = machine.ceilings;
  const ComputeCeiling *peak = peak_of(ceilings, precision), *fp32 = peak_of(ceilings, "fp32");
  if (peak == nullptr || ceilings.memory.empty()) return {};
  std::string text = fmt::format("measured peaks of {}: {}", ceilings.gpu->device, tera(*peak));
  if (fp32 != peak) text += ", " + tera(*fp32);
  text += fmt::format("; {:.2f} TB/s from its memory, up to {:.2f} TB/s from its cache; {:.1f} us a launch, {:.1f} in a CUDA graph; {}\n",
                      ceilings.memory.back().bytes_per_s() / 1e12, bandwidth_bytes_per_s(ceilings, 0) / 1e12,
                      ceilings.gpu->launch.in_stream_s * 1e6, ceilings.gpu->launch.in_graph_s * 1e6, when_text(machine));
  return text + data_sheet_text(peak->precision, ceilings);
}

std::string ceilings_text(const std::string& precision, const ShownCeilings& machine) {
  if (!machine.missing.empty()) return fmt::format("measured peaks: missing: {}\n", machine.missing);
  const Ceilings& ceilings = machine.ceilings;
  if (ceilings.gpu) return gpu_ceilings_text(precision, machine);
  const ComputeCeiling* peak = peak_of(ceilings, precision);
  if (peak == nullptr || ceilings.memory.empty()) return {};
  const ComputeCeiling* fp32 = peak_of(ceilings, "fp32");
  std::string text = fmt::format("measured peaks: {} {:.0f} GFLOP/s ({})", peak->precision, peak->flop_per_s / 1e9, peak->kernel);
  if (fp32 != peak) text += fmt::format(", fp32 {:.0f} GFLOP/s", fp32->flop_per_s / 1e9);
  text += fmt::format("; {:.1f} GB/s from memory, up to {:.0f} GB/s from caches; {}\n", ceilings.memory.back().bytes_per_s() / 1e9,
                      bandwidth_bytes_per_s(ceilings, 0) / 1e9, when_text(machine));
  if (!is_undisturbed(ceilings))
    text += "the machine was busy, so the measured peaks may be too low; they are measured again the next time\n";
  return text;
}

std::string sums_text(const ProfileHeader& header, const ProfileRows& rows, size_t name_width, size_t operator_width) {
  ProfileRow between{.seconds = rows.between_seconds};
  between.share = rows.whole_seconds > 0 ? rows.between_seconds / rows.whole_seconds : 0;
  ProfileRow whole{.seconds = rows.whole_seconds, .share = 1};
  std::string text = line(fmt::format("sum of {} layers", rows.all.layers), name_width, "", operator_width, rows.all);
  text += line("between layers", name_width, "", operator_width, between);
  if (rows.copied_seconds > 0) {
    ProfileRow copied{.seconds = rows.copied_seconds};
    copied.share = rows.whole_seconds > 0 ? rows.copied_seconds / rows.whole_seconds : 0;
    text += line("  of it copies, host and device", name_width, "", operator_width, copied);
  }
  text += line("whole", name_width, "", operator_width, whole);
  if (rows.whole_seconds > 0)
    text += fmt::format(
        "{} items/s. Between layers is the time of a plain run beyond that of its layers: passing data on, inputs, timestamps.\n",
        significant_text(static_cast<double>(header.batch) / rows.whole_seconds, 4));
  return text;
}

std::string bounds_text(const ProfileRows& rows) {
  if (!rows.all.of_roof) return {};
  std::vector<std::string> parts;
  for (const auto& [bound, share] : rows.bounds)
    parts.push_back(fmt::format("{} {}", bound.empty() ? "unknown" : bound, share_text(share)));
  return fmt::format("Layers reach {} of what the measured peaks allow. Share of their time by what limits it: {}.\n",
                     share_text(*rows.all.of_roof), join(parts, ", "));
}

std::vector<size_t> shown_rows(const ProfileRows& rows, size_t top) {
  std::vector<size_t> order(rows.layers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (top == 0) return order;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rows.layers[a].seconds > rows.layers[b].seconds; });
  order.resize(std::min(top, order.size()));
  return order;
}

}  // namespace

std::string profile_text(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows, const ShownCeilings& machine,
                         size_t width, size_t top) {
  const size_t text_width = std::max<size_t>(width, number_columns + 23) - number_columns - 1;
  const size_t operator_width = std::clamp<size_t>(text_width / 3, 9, 24), name_width = text_width - operator_width;
  const std::string where =
      header.device == "cpu" ? fmt::format("{} thread{}", header.threads, header.threads == 1 ? "" : "s") : header.device;
  std::string text = fmt::format("{} on {}: {}, batch {}, {}, faster half of {} rounds\n", header.model, profile.engine, header.precision,
                                 header.batch, where, profile.rounds);
  text += ceilings_text(header.precision, machine) + "\n";
  text += heading(top == 0 ? "layer" : fmt::format("slowest {} layers", std::min(top, rows.layers.size())), name_width, "operators",
                  operator_width);
  for (const size_t index : shown_rows(rows, top)) {
    const ProfileRow& row = rows.layers[index];
    text += line(row.name, name_width, row.operators, operator_width, row);
  }
  text += sums_text(header, rows, name_width, operator_width);
  if (profile.whole_after_ns > 0 && profile.whole_ns > 0)
    text += fmt::format("After the device was traced, a plain run took {:.3f} ms, {:.3f} times as long as before.\n",
                        static_cast<double>(profile.whole_after_ns) / 1e6,
                        static_cast<double>(profile.whole_after_ns) / static_cast<double>(profile.whole_ns));
  text += "\n";
  text += heading("by operator", name_width, "layers", operator_width);
  for (const ProfileRow& row : rows.groups) text += line(row.name, name_width, std::to_string(row.layers), operator_width, row);
  text += trace_text(profile, width, top);
  text += work_text(profile, work_table(profile, machine.ceilings, header.precision), top);
  text += cpu_counters_text(profile);
  text += "\n" + bounds_text(rows);
  for (const Explanation& one : explain(header, profile, rows, machine)) text += fmt::format("{}.\n  {}.\n", one.head, one.evidence);
  for (const std::string& note : rows.notes) text += fmt::format("Note: {}.\n", note);
  text += missing_counters_text(profile);
  return text;
}

}  // namespace deepgap
