// Points that no other Point beats: the front over several metrics, and the best Point by each goal. Pure functions; pointers lead into the
// Workload.
#pragma once

#include "analysis/comparison.h"
#include "analysis/lines.h"
#include "analysis/metric.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// A metric as a goal.
struct GoalMetric {
  std::string metric;
  Better better = Better::higher;
  std::string words;  // "highest throughput"
};
// throughput, p99 latency, energy, cost, device memory, accuracy.
const std::vector<GoalMetric>& goal_metrics();

// Returns the front in the order of the points: those that no other dominates. A Point is dominated by another that is no worse in every
// metric and better in one, beyond doubt: their intervals do not overlap where they differ. A value without an interval counts as it
// stands. A Point that lacks one of the metrics is not on the front. Quick for two metrics.
std::vector<const PointSummary*> pareto_front(std::span<const PointSummary* const> points, std::span<const GoalMetric> metrics);
// Returns the front as if every value were exact, which makes a line that runs one way.
std::vector<const PointSummary*> front_of_values(std::span<const PointSummary* const> points, std::span<const GoalMetric> metrics);

// The Points that something may be recommended from: valid, checked, measured here. Where a Workload has none such, all usable ones, and
// `all_trusted` is false.
struct Choosable {
  std::vector<std::pair<const Line*, const PointSummary*>> points;
  bool all_trusted = true;
};
Choosable choosable(const Workload& workload);

struct BestByGoal {
  const GoalMetric* goal = nullptr;
  const Line* line = nullptr;
  const PointSummary* point = nullptr;
  // The best of the other Lines, and how many times of its value the best has; nullptr: there is none.
  const Line* next_line = nullptr;
  const PointSummary* next = nullptr;
  std::optional<Comparison> over_next;
};
// Goals that no Point has a value for are left out, and all where fewer than two Points are choosable.
std::vector<BestByGoal> best_by_goal(const Workload& workload);

}  // namespace deepgap
