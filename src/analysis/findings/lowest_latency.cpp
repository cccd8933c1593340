// The shortest answer a model gives, for those who wait for it.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

class LowestLatency final : public Finding {
 public:
  std::string id() const override { return "lowest_latency"; }
  int order() const override { return 30; }
  std::string describe() const override {
    return "The usable point with the lowest median latency of each model, with its 99th percentile.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    for (const Workload& workload : evidence.workloads) {
      const PointSummary* best = nullptr;
      const Line* best_line = nullptr;
      for (const Line& line : workload.lines) {
        for (const PointSummary* point : line.points) {
          const MetricSummary* median = point->usable() ? point->find("latency_p50_ms") : nullptr;
          if (median == nullptr) continue;
          if (best != nullptr && median->estimate.value >= best->find("latency_p50_ms")->estimate.value) continue;
          best = point;
          best_line = &line;
        }
      }
      if (best != nullptr) statements.push_back(statement(workload, *best_line, *best));
    }
    return statements;
  }

 private:
  static Statement statement(const Workload& workload, const Line& line, const PointSummary& point) {
    Statement statement;
    statement.headline = fmt::format("{}: {} ms median latency with {} at batch {}", workload.label,
                                     format_estimate(point.find("latency_p50_ms")->estimate), line.label, point.point.batch);
    statement.point_ids = {point.point_id};
    if (const MetricSummary* p99 = point.find("latency_p99_ms")) {
      statement.detail = fmt::format("One query in a hundred takes longer than {} ms.", format_estimate(p99->estimate));
    }
    return statement;
  }
};

const bool registered = Registry<Finding>::instance().add("lowest_latency", [] { return std::make_unique<LowestLatency>(); });

}  // namespace
}  // namespace deepgap
