// Where throughput peaks along the batch, and the smallest batch that already gives nearly as much: the one to use where latency counts.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr double near_peak = 0.95;

std::vector<const PointSummary*> measured(const Line& line) {
  std::vector<const PointSummary*> points;
  for (const PointSummary* point : line.points) {
    if (point->usable() && point->find("throughput") != nullptr) points.push_back(point);
  }
  return points;
}

class BatchPeak final : public Finding {
 public:
  std::string id() const override { return "batch_peak"; }
  int order() const override { return 20; }
  std::string describe() const override {
    return "Along each line of at least three batches: the batch with the highest throughput, and the smallest whose throughput is within "
           "5 % of "
           "it; when the largest batch is the best, the peak may lie beyond it.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    for (const Workload& workload : evidence.workloads) {
      for (const Line& line : workload.lines) {
        const auto points = measured(line);
        if (points.size() >= 3) statements.push_back(statement(workload, line, points));
      }
    }
    return statements;
  }

 private:
  static Statement statement(const Workload& workload, const Line& line, const std::vector<const PointSummary*>& points) {
    const PointSummary* peak = line.peak();
    const double most = peak->find("throughput")->estimate.value;
    const PointSummary* smallest = peak;
    for (const PointSummary* point : points) {
      if (point->find("throughput")->estimate.value >= near_peak * most) {
        smallest = point;
        break;
      }
    }
    Statement statement;
    statement.point_ids = {peak->point_id};
    const std::string who = fmt::format("{}, {}", workload.label, line.label);
    if (smallest == peak) {
      statement.headline = fmt::format("{}: throughput peaks at batch {}; no smaller batch is within 5 % of it", who, peak->point.batch);
    } else {
      statement.headline =
          fmt::format("{}: batch {} is enough, within 5 % of the peak at batch {}", who, smallest->point.batch, peak->point.batch);
      statement.point_ids.push_back(smallest->point_id);
    }
    statement.detail = gain_words(*points.front(), *peak);
    if (peak == points.back()) statement.detail += " It is the largest batch measured: the peak may lie beyond it.";
    return statement;
  }

  static std::string gain_words(const PointSummary& first, const PointSummary& peak) {
    if (&first == &peak) return fmt::format("Batching does not help: the smallest batch, {}, is the fastest.", first.point.batch);
    const auto gain = compare_points(peak, first, "throughput");
    if (!gain) return {};
    return fmt::format("The peak is {}.", comparison_words(*gain, fmt::format("batch {}", first.point.batch)));
  }
};

const bool registered = Registry<Finding>::instance().add("batch_peak", [] { return std::make_unique<BatchPeak>(); });

}  // namespace
}  // namespace deepgap
