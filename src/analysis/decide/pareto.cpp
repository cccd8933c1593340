#include "analysis/decide/pareto.h"

#include "record/published.h"

#include <algorithm>

namespace deepgap {
namespace {

struct Range {
  double low, high;
};

// The larger the better.
Range range_of(const MetricSummary& metric, Better better) {
  const double low = metric.estimate.low.value_or(metric.estimate.value), high = metric.estimate.high.value_or(metric.estimate.value);
  return better == Better::lower ? Range{-high, -low} : Range{low, high};
}

bool has_all(const PointSummary& point, std::span<const GoalMetric> metrics) {
  return std::all_of(metrics.begin(), metrics.end(), [&](const GoalMetric& goal) { return point.find(goal.metric) != nullptr; });
}

bool is_better(double a, double b, Better better) { return better == Better::lower ? a < b : a > b; }

bool is_trusted(const PointSummary& point) {
  return point.usable() && point.verdict == Verdict::valid && !point.unchecked && !is_published(point.point);
}

using Chosen = std::pair<const Line*, const PointSummary*>;

// The best of those that `among` lets through; both nullptr: none has a value.
template <typename Among>
Chosen best_of(const std::vector<Chosen>& points, const GoalMetric& goal, Among among) {
  Chosen best{nullptr, nullptr};
  for (const Chosen& each : points) {
    const MetricSummary* value = among(each) ? each.second->find(goal.metric) : nullptr;
    if (value == nullptr || !(value->estimate.value > 0)) continue;
    const auto* kept = best.second == nullptr ? nullptr : best.second->find(goal.metric);
    if (kept == nullptr || is_better(value->estimate.value, kept->estimate.value, goal.better)) best = each;
  }
  return best;
}

}  // namespace

const std::vector<GoalMetric>& goal_metrics() {
  static const std::vector<GoalMetric> goals{
      {"throughput", Better::higher, "highest throughput"},        {"latency_p99_ms", Better::lower, "lowest latency, 99th percentile"},
      {"energy_j_per_item", Better::lower, "least energy"},        {"cost_per_1000_items", Better::lower, "least cost"},
      {"device_memory_mib", Better::lower, "least device memory"}, {"accuracy_top1", Better::higher, "highest accuracy"}};
  return goals;
}

bool dominates(const PointSummary& a, const PointSummary& b, std::span<const GoalMetric> metrics) {
  if (!has_all(a, metrics) || !has_all(b, metrics)) return false;
  bool better = false;
  for (const GoalMetric& goal : metrics) {
    const Range of_a = range_of(*a.find(goal.metric), goal.better), of_b = range_of(*b.find(goal.metric), goal.better);
    if (of_a.low < of_b.high) return false;  // b may be the better one here
    better = better || of_a.low > of_b.high;
  }
  return better;
}

std::vector<const PointSummary*> pareto_front(std::span<const PointSummary* const> points, std::span<const GoalMetric> metrics) {
  std::vector<const PointSummary*> front;
  for (const PointSummary* point : points) {
    const auto beats = [&](const PointSummary* other) { return dominates(*other, *point, metrics); };
    if (has_all(*point, metrics) && std::none_of(points.begin(), points.end(), beats)) front.push_back(point);
  }
  return front;
}

Choosable choosable(const Workload& workload) {
  Choosable found;
  for (const bool trusted : {true, false}) {
    for (const Line& line : workload.lines) {
      if (line.is_candidate()) continue;
      for (const PointSummary* point : line.points) {
        if (trusted ? is_trusted(*point) : point->usable()) found.points.emplace_back(&line, point);
      }
    }
    found.all_trusted = trusted;
    if (!found.points.empty()) break;
  }
  return found;
}

std::vector<BestByGoal> best_by_goal(const Workload& workload) {
  const Choosable from = choosable(workload);
  std::vector<BestByGoal> found;
  if (from.points.size() < 2) return found;
  for (const GoalMetric& goal : goal_metrics()) {
    const Chosen best = best_of(from.points, goal, [](const Chosen&) { return true; });
    if (best.second == nullptr) continue;
    const Chosen next = best_of(from.points, goal, [&](const Chosen& each) { return each.first != best.first; });
    BestByGoal row{&goal, best.first, best.second, next.first, next.second, std::nullopt};
    if (next.second != nullptr) row.over_next = compare_points(*best.second, *next.second, goal.metric);
    found.push_back(std::move(row));
  }
  return found;
}

}  // namespace deepgap
