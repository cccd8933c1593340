// Every Point against a baseline: how many times its throughput, and that for each device, watt and unit of money; and what several devices
// give over one. As metrics of the Points, made when Stores are read, with the intervals of both sides. Pure functions; any thread.
#pragma once

#include "analysis/point_summary.h"

#include <functional>
#include <string>
#include <vector>

namespace deepgap {

// Adds throughput_ratio, throughput_per_device_ratio, items_per_s_per_w_ratio and items_per_cost_ratio to each Point that has a baseline.
// Its baseline is the fastest usable Point that `is_baseline` holds for, with the same task, model, weights, dataset, scenario and batch.
// Returns how many got one.
size_t add_baseline_ratios(std::vector<PointSummary>& points, const std::function<bool(const PointSummary&)>& is_baseline);

// Adds device_speedup to each Point on several devices, over the Point on one of these that is alike otherwise, and scaling_efficiency,
// that over the number of devices; for a training, where each has a batch of its own, strong_scaling_efficiency, over the one whose batch
// is theirs together.
void add_scaling(std::vector<PointSummary>& points);

// The ids of all those metrics.
std::vector<std::string> ratio_metric_ids();

}  // namespace deepgap
