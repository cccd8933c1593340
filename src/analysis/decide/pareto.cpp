#include "analysis/decide/pareto.h"

#include "record/published.h"
#include "record/scripted.h"
#include "record/verdict.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>

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

using Box = std::vector<Range>;  // by metric

Box box_of(const PointSummary& point, std::span<const GoalMetric> metrics, bool exact) {
  Box box;
  for (const GoalMetric& goal : metrics) {
    const MetricSummary& metric = *point.find(goal.metric);
    const double value = goal.better == Better::lower ? -metric.estimate.value : metric.estimate.value;
    box.push_back(exact ? Range{value, value} : range_of(metric, goal.better));
  }
  return box;
}

bool beats(const Box& a, const Box& b) {
  bool better = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].low < b[i].high) return false;  // b may be the better one here
    better = better || a[i].low > b[i].high;
  }
  return better;
}

// Answers, for two metrics: the best lower end of the second among all whose lower end of the first is at least, or above, some value.
class SecondAlongFirst {
 public:
  explicit SecondAlongFirst(const std::vector<Box>& boxes) {
    for (const Box& box : boxes) ends_.emplace_back(box[0].low, box[1].low);
    std::sort(ends_.begin(), ends_.end(), std::greater<>());
    for (size_t i = 1; i < ends_.size(); ++i) ends_[i].second = std::max(ends_[i].second, ends_[i - 1].second);
  }
  bool beats(const Box& box) const {
    const auto best = [&](auto stop) { return stop == ends_.begin() ? -std::numeric_limits<double>::infinity() : std::prev(stop)->second; };
    const auto first = box[0].high;
    const auto behind_equal = std::partition_point(ends_.begin(), ends_.end(), [&](const auto& end) { return end.first >= first; });
    const auto behind_above = std::partition_point(ends_.begin(), ends_.end(), [&](const auto& end) { return end.first > first; });
    return best(behind_equal) > box[1].high || best(behind_above) >= box[1].high;
  }

 private:
  std::vector<std::pair<double, double>> ends_;
};

std::vector<const PointSummary*> front_of(std::span<const PointSummary* const> all, std::span<const GoalMetric> metrics, bool exact) {
  std::vector<const PointSummary*> points;
  std::vector<Box> boxes;
  for (const PointSummary* point : all) {
    if (!has_all(*point, metrics)) continue;
    points.push_back(point);
    boxes.push_back(box_of(*point, metrics, exact));
  }
  std::vector<const PointSummary*> front;
  const std::optional<SecondAlongFirst> quick = metrics.size() == 2 ? std::optional<SecondAlongFirst>(boxes) : std::nullopt;
  for (size_t i = 0; i < points.size(); ++i) {
    const bool beaten =
        quick ? quick->beats(boxes[i]) : std::any_of(boxes.begin(), boxes.end(), [&](const Box& other) { return beats(other, boxes[i]); });
    if (!beaten) front.push_back(points[i]);
  }
  return front;
}

bool is_better(double a, double b, Better better) { return better == Better::lower ? a < b : a > b; }

bool is_trusted(const PointSummary& point) {
  return point.usable() && is_sound(point.verdict) && !point.unchecked && !is_published(point.point) && !is_scripted(point.point);
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

std::vector<const PointSummary*> pareto_front(std::span<const PointSummary* const> points, std::span<const GoalMetric> metrics) {
  return front_of(points, metrics, false);
}

std::vector<const PointSummary*> front_of_values(std::span<const PointSummary* const> points, std::span<const GoalMetric> metrics) {
  return front_of(points, metrics, true);
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
    found.push_back(row);
  }
  return found;
}

}  // namespace deepgap
