// The batch and the way of running that give most items for the energy.
#include "analysis/best_values.h"
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr const char* metric = "items_per_s_per_w";

class PerWatt final : public Finding {
 public:
  std::string id() const override { return "per_watt"; }
  int order() const override { return 44; }
  std::string describe() const override {
    return "The usable point of each model with the most items/s per watt, against the point of the same line with the highest "
           "throughput.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    for (const Workload& workload : evidence.workloads) {
      if (const auto best = best_value(workload, metric)) statements.push_back(statement(workload, *best));
    }
    return statements;
  }

 private:
  static Statement statement(const Workload& workload, const BestValue& best) {
    Statement statement;
    statement.headline = fmt::format("{}: {} items/s per watt with {} at batch {}", workload.label,
                                     format_estimate(best.point->find(metric)->estimate), best.line->label, best.point->point.batch);
    statement.points = {best.point};
    const PointSummary* fastest = best.line->peak();
    if (fastest == best.point || fastest == nullptr) {
      statement.detail = "It is also the fastest of its line.";
    } else if (const auto gain = compare_points(*best.point, *fastest, metric)) {
      statement.detail =
          fmt::format("That is {}.", comparison_words(*gain, fmt::format("the fastest of its line, batch {}", fastest->point.batch)));
      statement.points.push_back(fastest);
      statement.effect = certain_effect(gain);
    }
    return statement;
  }
};

const bool registered = Registry<Finding>::instance().add("per_watt", [] { return std::make_unique<PerWatt>(); });

}  // namespace
}  // namespace deepgap
