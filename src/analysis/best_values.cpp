#include "analysis/best_values.h"

#include "analysis/metric.h"
#include "analysis/winner_value.h"
#include "analysis/work_rate.h"

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
  static const std::vector<const char*> of_items{throughput, "latency_p50_ms", "energy_j_per_item", "cost_per_1000_items"};
  static const std::vector<const char*> of_tokens{"output_tokens_per_s", "ttft_p50_ms", "tpot_ms", "energy_j_per_token",
                                                  "cost_per_million_output_tokens"};
  const std::vector<const char*>& metrics = workload.key.task == "generate" ? of_tokens : of_items;
  std::vector<BestValue> values;
  for (const char* metric : metrics) {
    if (auto best = best_value(workload, metric)) values.push_back(std::move(*best));
  }
  return values;
}

}  // namespace deepgap
