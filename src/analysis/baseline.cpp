#include "analysis/baseline.h"

#include "analysis/combine_repeats.h"
#include "analysis/metric.h"
#include "record/record_json.h"
#include "stats/compare.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace deepgap {
namespace {

using Alike = std::tuple<Task, std::string, std::string, std::string, std::string, std::string, int64_t>;

Alike alike(const Point& point) {
  return {point.task, point.model_hash.empty() ? point.model : "", point.model_hash, point.weights, point.dataset, point.scenario,
          point.batch};
}

double devices(const PointSummary& point) { return static_cast<double>(point.point.placement.devices.size()); }

MetricSummary scaled(MetricSummary summary, double factor) {
  summary.estimate.value *= factor;
  if (summary.estimate.low) *summary.estimate.low *= factor;
  if (summary.estimate.high) *summary.estimate.high *= factor;
  summary.mean.mean *= factor;
  summary.mean.variance_of_mean *= factor * factor;
  return summary;
}

// Returns the ratio of the values shown as a metric, with its interval, unpaired; nullopt where one side lacks the metric.
std::optional<MetricSummary> ratio(const PointSummary& a, const PointSummary& b, const char* id) {
  const MetricSummary* first = a.find(id);
  const MetricSummary* second = b.find(id);
  if (first == nullptr || second == nullptr) return std::nullopt;
  const auto ratio = estimate_ratio(first->mean, second->mean);
  if (!ratio) return std::nullopt;
  MetricSummary summary;
  summary.estimate = {ratio->ratio, {}, {}, std::min(first->estimate.n, second->estimate.n)};
  if (first->estimate.low && second->estimate.low) {
    summary.estimate.low = ratio->interval.low;
    summary.estimate.high = ratio->interval.high;
  }
  summary.mean = moments_of(summary.estimate);
  summary.over_repeats = first->over_repeats && second->over_repeats;
  return summary;
}

void put(PointSummary& point, const char* id, const std::optional<MetricSummary>& value, double factor = 1) {
  if (value) point.metrics[id] = scaled(*value, factor);
}

void add_ratios(PointSummary& point, const PointSummary& baseline) {
  const auto throughput = ratio(point, baseline, "throughput");
  put(point, "throughput_ratio", throughput);
  put(point, "throughput_per_device_ratio", throughput, devices(baseline) / devices(point));
  put(point, "items_per_s_per_w_ratio", ratio(point, baseline, "items_per_s_per_w"));
  put(point, "items_per_cost_ratio", ratio(baseline, point, "cost_per_1000_items"));
}

// Returns the Point without its placement: one device and several of its kind are alike.
PointOnDevice without_placement(const PointSummary& point) {
  PointOnDevice key{without_paths(point.point), point.identity.device};
  key.point.placement = {};
  key.point.placement.devices = {{"", point.point.placement.devices.empty() ? "cpu" : point.point.placement.devices[0].kind, 0}};
  key.point.options.erase("choose");  // among how many the Dispatcher chooses
  return key;
}

bool faster(const PointSummary& a, const PointSummary& b) {
  return a.find("throughput")->estimate.value > b.find("throughput")->estimate.value;
}

Metric of_points(const char* id, const char* describe) {
  return {id, "1", Better::higher, describe, [](const Record&) { return std::optional<Estimate>(); }};
}

const std::vector<Metric>& ratio_metrics() {
  static const std::vector<Metric> specs{
      in_column({170},
                of_points("throughput_ratio", "throughput over that of the fastest baseline point of the same model, scenario and batch")),
      in_column({180}, of_points("throughput_per_device_ratio", "throughput_ratio for each device of either side")),
      in_column({190}, of_points("items_per_s_per_w_ratio", "items/s per watt over those of the baseline")),
      in_column({200}, of_points("items_per_cost_ratio", "items for the money over those of the baseline")),
      of_points("device_speedup", "throughput on several devices over that of one of them, all else alike"),
      in_column({210}, of_points("scaling_efficiency",
                                 "device_speedup over the number of devices; of a training, whose batch is a process's, weak scaling")),
      of_points("strong_scaling_efficiency",
                "training: throughput on several devices over that of one whose batch is all of theirs together, over their number"),
  };
  return specs;
}

const bool registered = register_metrics(ratio_metrics());

}  // namespace

size_t add_baseline_ratios(std::vector<PointSummary>& points, const std::function<bool(const PointSummary&)>& is_baseline) {
  std::map<Alike, size_t> baselines;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!points[i].usable() || points[i].find("throughput") == nullptr || !is_baseline(points[i])) continue;
    const auto [known, is_new] = baselines.emplace(alike(points[i].point), i);
    if (!is_new && faster(points[i], points[known->second])) known->second = i;
  }
  size_t compared = 0;
  for (PointSummary& point : points) {
    const auto baseline = baselines.find(alike(point.point));
    if (baseline == baselines.end() || !point.usable()) continue;
    ++compared;
    add_ratios(point, points[baseline->second]);
  }
  return compared;
}

void add_scaling(std::vector<PointSummary>& points) {
  std::map<PointOnDevice, const PointSummary*> single;
  for (const PointSummary& point : points) {
    if (point.point.placement.devices.size() == 1 && point.usable() && point.find("throughput") != nullptr)
      single.emplace(without_placement(point), &point);
  }
  for (PointSummary& point : points) {
    if (point.point.placement.devices.size() < 2 || !point.usable() || point.identity.device.empty()) continue;
    PointOnDevice key = without_placement(point);
    if (const auto one = single.find(key); one != single.end()) {
      const auto speedup = ratio(point, *one->second, "throughput");
      put(point, "device_speedup", speedup);
      put(point, "scaling_efficiency", speedup, 1 / devices(point));
    }
    if (point.point.task != Task::train) continue;
    key.point.batch *= static_cast<int64_t>(point.point.placement.devices.size());
    if (const auto whole = single.find(key); whole != single.end())
      put(point, "strong_scaling_efficiency", ratio(point, *whole->second, "throughput"), 1 / devices(point));
  }
}

std::vector<std::string> ratio_metric_ids() {
  std::vector<std::string> ids;
  for (const Metric& spec : ratio_metrics()) ids.push_back(spec.id);
  return ids;
}

}  // namespace deepgap
