#include "analysis/best_values.h"

#include "analysis/metric.h"
#include "analysis/winner_value.h"
#include "record/task_traits.h"

namespace deepgap {
namespace {

constexpr const char* throughput = "throughput";

bool is_ranked(const Line& line, const PointSummary& point, const std::string& metric) {
  if (line.is_candidate() || !point.usable() || (metric == work_rate(point.point).metric && point.offers_load())) return false;
  const MetricSummary* found = point.find(metric);
  return found != nullptr && found->estimate.value > 0;
}

// Scales the value and its interval, which is one of factors: it stays above 0.
void scale(Estimate& estimate, double by) {
  estimate.value *= by;
  if (estimate.low) *estimate.low *= by;
  if (estimate.high) *estimate.high *= by;
}

}  // namespace

std::optional<BestValue> best_value(const Workload& workload, const std::string& metric) {
  const Metric* known = find_metric(metric);
  const bool higher = known == nullptr || known->better != Better::lower;
  std::optional<BestValue> best;
  std::vector<const PointSummary*> ranked;
  for (const Line& line : workload.lines) {
    for (const PointSummary* point : line.points) {
      if (!is_ranked(line, *point, metric)) continue;
      ranked.push_back(point);
      const Estimate& estimate = point->find(metric)->estimate;
      const bool is_better = !best || (higher ? estimate.value > best->value.value : estimate.value < best->value.value);
      if (is_better) best = BestValue{metric, &line, point, estimate};
    }
  }
  if (best && metric == throughput)
    scale(best->value, value_of_winner(ranked, *best->point).value_or(best->value.value) / best->value.value);
  return best;
}

std::vector<BestValue> best_values(const Workload& workload) {
  const TaskTraits& traits = task_traits(workload.key.task);
  std::vector<const char*> metrics{traits.rate.metric};
  for (const auto& [metric, name] : traits.times) metrics.push_back(metric);
  metrics.insert(metrics.end(), {traits.energy, traits.cost});
  std::vector<BestValue> values;
  for (const char* metric : metrics) {
    if (auto best = best_value(workload, metric)) values.push_back(std::move(*best));
  }
  return values;
}

}  // namespace deepgap
