// The batch and the way of running that give most items for the energy.
#include "analysis/best_values.h"
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/words.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr const char* metric = "items_per_s_per_w";

Statement per_watt_statement(const Workload& workload, const BestValue& best) {
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

std::vector<Statement> find_per_watt(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    if (const auto best = best_value(workload, metric)) statements.push_back(per_watt_statement(workload, *best));
  }
  return statements;
}

const bool registered = register_finding(
    {"per_watt", 44, find_per_watt,
     "The usable point of each model with the most items/s per watt, against the point of the same line with the highest throughput."});

}  // namespace
}  // namespace deepgap
