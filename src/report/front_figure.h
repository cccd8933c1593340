// The chart of two metrics against each other, with what nothing beats in both.
#pragma once

#include "analysis/decide/pareto.h"

#include <string>

namespace deepgap {

// "812 items/s", "0.0123 USD for 1000 items". REQUIRES that the Point has the metric.
std::string value_text(const GoalMetric& goal, const PointSummary& point, const std::string& currency);
// Its interval in the same unit; empty without one.
std::string interval_text(const GoalMetric& goal, const PointSummary& point, const std::string& currency);

// Returns a <figure>: Points that nothing beats as one line from end to end; hollow those not significantly worse; faint all others. Empty
// for fewer than three Points that have both metrics.
std::string front_figure(const Workload& workload, const Choosable& from, const GoalMetric& x, const GoalMetric& y,
                         const std::string& currency);

}  // namespace deepgap
