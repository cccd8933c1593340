// The front that a user asks to see: any two metrics, and limits on others. Read from flags.
#pragma once

#include "analysis/decide/pareto.h"

#include <string>
#include <vector>

namespace deepgap {

// "device_memory_mib<=4000": a Point holds it by the worse end of its value's interval; one without the metric does not.
struct MetricLimit {
  std::string metric;
  bool at_most = true;
  double value = 0;
  std::string words;  // as it was written
  bool holds(const PointSummary& point) const;
};

struct FrontOrder {
  std::vector<std::pair<GoalMetric, GoalMetric>> pairs;  // across, up
  std::vector<MetricLimit> limits;
};

// "latency_p99_ms,throughput" each, and limits "accuracy_loss<=1%;cost_per_1000_items<=0.01". Throws Error{usage} for what is no metric, no
// number, or twice the same.
FrontOrder parse_front_order(const std::vector<std::string>& pairs, const std::string& limits);

// Returns those that hold all limits.
Choosable within(const Choosable& from, const std::vector<MetricLimit>& limits);

}  // namespace deepgap
