#include "profile/show_trace.h"

#include "base/quantity.h"
#include "base/text.h"
#include "kernels/families.h"
#include "kernels/summary.h"
#include "kernels/trace_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

using nlohmann::json;

double ms(Nanoseconds ns) { return static_cast<double>(ns) / 1e6; }
double share(Nanoseconds part, Nanoseconds whole) { return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole); }

std::string device_line(const Trace& trace, const TraceSummary& summary) {
  std::string text = fmt::format("device: {} kernels and {} copies in {:.3f} ms: busy {:.1f} % of it, copies {:.1f} %, gaps {:.1f} %",
                                 trace.kernels.size(), trace.copies.size(), ms(summary.span), 100 * share(summary.busy, summary.span),
                                 100 * share(summary.copy_ns, summary.span), 100 * share(summary.gap_ns(), summary.span));
  if (!summary.gaps.empty())
    text += fmt::format("; the longest gap, {:.1f} us, stands before {}", static_cast<double>(summary.gaps.front().ns()) / 1e3,
                        short_kernel_name(summary.gaps.front().after));
  return text + "\n";
}

std::string kernel_lines(const Trace& trace, const TraceSummary& summary, size_t width, size_t top) {
  std::vector<const Kernel*> order;
  for (const Kernel& kernel : trace.kernels) order.push_back(&kernel);
  std::stable_sort(order.begin(), order.end(), [](const Kernel* a, const Kernel* b) { return a->ns() > b->ns(); });
  order.resize(std::min(order.size(), top));
  const size_t name_width = width > 96 ? std::min<size_t>(width - 66, 48) : 30;
  std::string text = fmt::format("\n{:<{}} {:>9} {:>7} {:>14} {:>6} {:>5} {:>9}  {}\n", "slowest kernels", name_width, "ms", "share",
                                 "grid", "block", "regs", "shared", "layer");
  for (const Kernel* k : order) {
    const std::string layer = k->layer < 0 ? "" : trace.layers[static_cast<size_t>(k->layer)].name;
    text += trim(fmt::format("{:<{}} {:>9.3f} {:>5.1f} % {:>14} {:>6} {:>5} {:>9}  {}", short_kernel_name(k->name).substr(0, name_width),
                             name_width, ms(k->ns()), 100 * share(k->ns(), summary.kernel_ns),
                             fmt::format("{}x{}x{}", k->grid[0], k->grid[1], k->grid[2]), k->block[0] * k->block[1] * k->block[2],
                             k->registers, format_bytes(static_cast<double>(k->shared_bytes)), layer)) +
            "\n";
  }
  return text;
}

}  // namespace

std::string trace_text(const LayerProfile& profile, size_t width, size_t top) {
  if (!profile.trace)
    return profile.trace_missing.empty() ? std::string() : fmt::format("\nkernels: not available: {}\n", profile.trace_missing);
  const Trace& trace = *profile.trace;
  const TraceSummary summary = summary_of(trace);
  std::string text = fmt::format("\n{:<24} {:>8} {:>9} {:>7}\n", "by family of kernels", "kernels", "ms", "share");
  for (const FamilyTime& family : summary.families)
    text += fmt::format("{:<24} {:>8} {:>9.3f} {:>5.1f} %\n", family.family, family.kernels, ms(family.ns),
                        100 * share(family.ns, summary.kernel_ns));
  if (top > 0) text += kernel_lines(trace, summary, width, top);
  text += "\n" + device_line(trace, summary);
  if (trace.dropped > 0) text += fmt::format("Note: {} records were lost, so kernels are missing here.\n", trace.dropped);
  return text;
}

std::string cpu_counters_text(const LayerProfile& profile) {
  const auto& counts = profile.cpu.counts;
  if (counts.empty()) return {};
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    parts.push_back(fmt::format("{} {}", words, short_text(count, 4)));
  }
  std::string text = "\nCPU counters of one batch: " + join(parts, ", ");
  if (counts.contains("instructions") && counts.contains("cycles") && counts.at("cycles") > 0)
    text += fmt::format("; {:.2f} instructions a cycle", counts.at("instructions") / counts.at("cycles"));
  return text + "\n";
}

std::string missing_counters_text(const LayerProfile& profile) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const auto& [name, why] : profile.cpu.missing) by_reason[why].push_back(name);
  std::string text;
  for (const auto& [why, missing] : by_reason) {
    std::string words = join(missing, ", ");
    std::replace(words.begin(), words.end(), '_', ' ');
    text += fmt::format("Note: CPU counters not available: {}: {}.\n", words, why);
  }
  return text;
}

json trace_summary_json(const LayerProfile& profile) {
  if (!profile.trace) return nullptr;
  const Trace& trace = *profile.trace;
  const TraceSummary summary = summary_of(trace);
  json families = json::array(), kernels = json::array(), copies = json::array();
  for (const FamilyTime& family : summary.families)
    families.push_back(
        {{"family", family.family}, {"kernels", family.kernels}, {"ms", ms(family.ns)}, {"share", share(family.ns, summary.kernel_ns)}});
  for (const Kernel& k : trace.kernels) {
    json& row = kernels.emplace_back(launch_json(k));
    row["layer"] = k.layer < 0 ? json(nullptr) : json(trace.layers[static_cast<size_t>(k.layer)].name);
    row["begin_ms"] = ms(k.begin);
    row["ms"] = ms(k.ns());
    row["in_cuda_graph"] = k.graph_node != 0;
  }
  for (const DeviceCopy& copy : trace.copies)
    copies.push_back({{"what", copy.what},
                      {"begin_ms", ms(copy.begin)},
                      {"ms", ms(copy.end - copy.begin)},
                      {"bytes", copy.bytes},
                      {"stream", copy.stream}});
  return {{"span_ms", ms(summary.span)},
          {"busy_ms", ms(summary.busy)},
          {"kernel_ms", ms(summary.kernel_ns)},
          {"copy_ms", ms(summary.copy_ns)},
          {"gap_ms", ms(summary.gap_ns())},
          {"families", families},
          {"kernels", kernels},
          {"copies", copies},
          {"dropped", trace.dropped}};
}

}  // namespace deepgap
