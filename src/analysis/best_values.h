// The best usable point of a Workload in each metric that people choose by: throughput, latency, energy, cost. Pure functions.
#pragma once

#include "analysis/lines.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// Refers to the Workload's lines and points.
struct BestValue {
  std::string metric;  // its id: "latency_p50_ms"
  const Line* line = nullptr;
  const PointSummary* point = nullptr;
  // The point's value. A highest throughput is that of the repeats which did not choose the point (analysis/winner_value.h).
  Estimate value;
};

// The best point by one metric, in the direction that the metric calls better. Candidates of a peak search do not count, and neither does
// an open loop's throughput, which is the load that was offered. nullopt if no usable point has a positive value.
std::optional<BestValue> best_value(const Workload& workload, const std::string& metric);

// Returns the best throughput, median latency, energy of an item and cost of 1000 items, in this order; of generation the best tokens a
// second, median time to the first token, time per token, energy and cost of tokens. Without metrics that no point has.
std::vector<BestValue> best_values(const Workload& workload);

}  // namespace deepgap
