// The batch and the way of running that give most items for the energy.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr const char* metric = "items_per_s_per_w";

struct Best {
  const Line* line = nullptr;
  const PointSummary* point = nullptr;
};

Best best_of(const Workload& workload) {
  Best best;
  for (const Line& line : workload.lines) {
    if (line.is_candidate()) continue;
    for (const PointSummary* point : line.points) {
      const MetricSummary* value = point->usable() ? point->find(metric) : nullptr;
      if (value == nullptr) continue;
      if (best.point == nullptr || value->estimate.value > best.point->find(metric)->estimate.value) best = {&line, point};
    }
  }
  return best;
}

class PerWatt final : public Finding {
 public:
  std::string id() const override { return "per_watt"; }
  int order() const override { return 44; }
  std::string describe() const override {
    return "The usable point of each model with the most items a second and watt, against the point of the same line with the highest "
           "throughput.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    for (const Workload& workload : evidence.workloads) {
      const Best best = best_of(workload);
      if (best.point != nullptr) statements.push_back(statement(workload, best));
    }
    return statements;
  }

 private:
  static Statement statement(const Workload& workload, const Best& best) {
    Statement statement;
    statement.headline = fmt::format("{}: {} items a second and watt with {} at batch {}", workload.label,
                                     format_estimate(best.point->find(metric)->estimate), best.line->label, best.point->point.batch);
    statement.points = {best.point};
    const PointSummary* fastest = best.line->peak();
    if (fastest == best.point || fastest == nullptr) {
      statement.detail = "It is also the fastest of its line.";
    } else if (const auto gain = compare_points(*best.point, *fastest, metric)) {
      statement.detail =
          fmt::format("That is {}.", comparison_words(*gain, fmt::format("the fastest of its line, batch {}", fastest->point.batch)));
      statement.points.push_back(fastest);
    }
    return statement;
  }
};

const bool registered = Registry<Finding>::instance().add("per_watt", [] { return std::make_unique<PerWatt>(); });

}  // namespace
}  // namespace deepgap
