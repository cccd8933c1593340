// Reports how much faster a GPU is than the CPU, each at its best.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

bool on_cpu(const Line& line) {
  const auto& devices = line.key.placement.devices;
  return std::all_of(devices.begin(), devices.end(), [](const DeviceId& device) { return device.kind == "cpu"; });
}

// The fastest Line of a workload on the CPU, or off it; with a precision given, of that one. No point where there is none.
Peak fastest(const Workload& workload, bool cpu, std::optional<Precision> precision) {
  for (const Peak& peak : peaks_of(workload)) {
    if (on_cpu(*peak.line) == cpu && (!precision || peak.line->key.precision == *precision)) return peak;
  }
  return {};
}

std::string where(const Peak& peak) { return fmt::format("{} at batch {}", peak.line->label, peak.point->point.batch); }

struct Pair {
  Peak gpu = {}, cpu = {};
};

// Compares in the precision in which the CPU is fastest among those that both ran.
std::optional<Pair> at_equal_precision(const Workload& workload) {
  for (const Peak& peak : peaks_of(workload)) {
    if (!on_cpu(*peak.line)) continue;
    const Peak gpu = fastest(workload, false, peak.line->key.precision);
    if (gpu.point != nullptr) return Pair{gpu, peak};
  }
  return std::nullopt;
}

std::string_view precision_of(const Peak& peak) { return name_of(peak.line->key.precision); }

// The headline compares at equal precision where both ran in one. A ratio across precisions names both and comes second.
void add(const Workload& workload, const Peak& gpu, const Peak& cpu, std::vector<Statement>& statements) {
  const std::string device = gpu.line->device.empty() ? "the GPU" : gpu.line->device;
  const auto words = [&](const Pair& pair) -> std::string {
    const auto ratio = compare_points(*pair.gpu.point, *pair.cpu.point, "throughput");
    if (!ratio || !ratio->interval) return {};  // without an interval there is nothing to state
    return fmt::format("{} in {} gives {} times the throughput of the CPU in {}", device, precision_of(pair.gpu), ratio_in_words(*ratio),
                       precision_of(pair.cpu));
  };
  const Pair best{gpu, cpu};
  Pair equal = at_equal_precision(workload).value_or(best);
  if (words(equal).empty()) equal = best;
  const std::string headline = words(equal);
  if (headline.empty()) return;
  Statement statement{Tone::result,
                      workload.label + ": " + headline,
                      fmt::format("{} against {}.", where(equal.gpu), where(equal.cpu)),
                      {equal.gpu.point, equal.cpu.point}};
  statement.effect = certain_effect(compare_points(*equal.gpu.point, *equal.cpu.point, "throughput"));
  const std::string across = words(best);
  if (!across.empty() && across != headline) {
    statement.detail += " Across precisions, " + across + ".";
    statement.points.insert(statement.points.end(), {gpu.point, cpu.point});
  }
  statements.push_back(std::move(statement));
}

std::vector<Statement> find_cpu_baseline(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    const Peak gpu = fastest(workload, false, {}), cpu = fastest(workload, true, {});
    if (gpu.point != nullptr && cpu.point != nullptr) add(workload, gpu, cpu, statements);
  }
  return statements;
}

const bool registered = register_finding({"cpu_baseline", 15, find_cpu_baseline,
                                          "The highest throughput of each model on a GPU against the highest on the CPU at equal "
                                          "precision, over all engines and batches; then each at its best precision."});

}  // namespace
}  // namespace deepgap
