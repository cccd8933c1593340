// One Metric of a Point out of its Records' values: at two levels, or where several nodes measured it at three (stats/compare.h), and
// percentiles of all queries together. Pure functions.
#pragma once

#include "analysis/point_summary.h"
#include "stats/latency_sketch.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace deepgap {

// One Record's value of one Metric.
struct RepeatEstimate {
  Estimate estimate;
  uint64_t block = 0, node = 0;  // as RepeatValue has them
};

// One Estimate of a Record as moments. The degrees of freedom are those of the batch means behind it: n - 1, at most 31.
MeanEstimate moments_of(const Estimate& estimate);

// Half of an interval that has both ends, in the value's unit: of one on the logarithm the factor of either end as a share of the value; of
// one around the mean, which may have been cut at 0, its farther end.
double half_width_of(const Estimate& estimate);

// Combines repeats. If all values are positive the interval is on the logarithm and does not include 0. `unnamed`: the node of those that
// are 0. `by_looks`: looks at the repeats decided how many there are. nullopt if there are none.
std::optional<MetricSummary> combine_repeats(const std::string& metric, std::span<const RepeatEstimate> repeats, uint64_t unnamed,
                                             bool by_looks);

// Sets a percentile of latency to that of all clusters' queries together. Where the scatter of the repeats' own percentiles is wider, it
// widens the interval. Clusters are runs, or nodes. `independent`: the number of independent queries that all of them count as; an end that
// needs more queries is absent, as within a run. Does nothing to other metrics, or without clusters.
void pool_percentile(const std::string& metric, std::span<const LatencySketch> clusters, int64_t independent, MetricSummary& summary);

// Percentiles out of buckets lie between the shortest and the longest latency of all, which are known exactly.
void keep_within_extremes(std::map<std::string, MetricSummary>& metrics);

// Marks the value as an average (record/averaged.h) over `values` repeats or nodes that are not here; comparisons use moments of that many.
// Below two, and for accuracies, whose samples are the same in all repeats, it counts as one run's.
void know_as_average(const std::string& metric, int64_t values, MetricSummary& summary);

}  // namespace deepgap
