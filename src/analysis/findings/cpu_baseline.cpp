// How much faster a GPU is than the CPU, each at its best.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/peaks.h"
#include "base/registry.h"

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

class CpuBaseline final : public Finding {
 public:
  std::string id() const override { return "cpu_baseline"; }
  int order() const override { return 15; }
  std::string describe() const override {
    return "The highest throughput of each model on a GPU against the highest on the CPU, over all engines, batches and precisions, and in "
           "fp32 alone.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    for (const Workload& workload : evidence.workloads) {
      const Peak gpu = fastest(workload, false, {}), cpu = fastest(workload, true, {});
      if (gpu.point != nullptr && cpu.point != nullptr) add(workload, gpu, cpu, statements);
    }
    return statements;
  }

 private:
  static void add(const Workload& workload, const Peak& gpu, const Peak& cpu, std::vector<Statement>& statements) {
    const auto ratio = compare_points(*gpu.point, *cpu.point, "throughput");
    if (!ratio) return;
    Statement statement;
    statement.headline = fmt::format("{}: {} gives {} times the throughput of the CPU", workload.label,
                                     gpu.line->device.empty() ? "the GPU" : gpu.line->device, ratio_in_words(*ratio));
    statement.detail = fmt::format("{} against {}.", where(gpu), where(cpu));
    statement.points = {gpu.point, cpu.point};
    const Peak gpu_fp32 = fastest(workload, false, Precision::fp32), cpu_fp32 = fastest(workload, true, Precision::fp32);
    const bool other = gpu_fp32.point != gpu.point || cpu_fp32.point != cpu.point;
    if (gpu_fp32.point != nullptr && cpu_fp32.point != nullptr && other) {
      const auto plain = compare_points(*gpu_fp32.point, *cpu_fp32.point, "throughput");
      if (plain) statement.detail += fmt::format(" In fp32 alone it is {} times.", ratio_in_words(*plain));
    }
    statements.push_back(std::move(statement));
  }
};

const bool registered = Registry<Finding>::instance().add("cpu_baseline", [] { return std::make_unique<CpuBaseline>(); });

}  // namespace
}  // namespace deepgap
