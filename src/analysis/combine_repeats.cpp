#include "analysis/combine_repeats.h"

#include "analysis/metric.h"
#include "record/latency_percentiles.h"
#include "stats/compare.h"
#include "stats/percentile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

// student_factor, with the common whole degrees of freedom at hand: a Store of many Points asks a million times.
double quick_student_factor(double degrees_of_freedom) {
  static const auto factors = [] {
    std::array<double, 64> made{};
    for (size_t i = 1; i < made.size(); ++i) made[i] = student_factor(static_cast<double>(i));
    return made;
  }();
  const auto whole = static_cast<size_t>(degrees_of_freedom);
  const bool at_hand = degrees_of_freedom >= 1 && whole < factors.size() && static_cast<double>(whole) == degrees_of_freedom;
  return at_hand ? factors[whole] : student_factor(degrees_of_freedom);
}

// Returns whether each repeat has so few queries that its percentile is that of a handful: below the true one nearly always, in all repeats
// alike, so that their mean says nothing about how high it may be.
bool is_of_a_handful(const std::string& metric, std::span<const RepeatEstimate> repeats) {
  constexpr double handful = 10;
  for (const NamedPercentile& named : latency_percentiles) {
    if (metric != latency_metric_id(named.name) && metric != wait_metric_id(named.name)) continue;
    return std::any_of(repeats.begin(), repeats.end(), [&](const RepeatEstimate& repeat) {
      return static_cast<double>(repeat.estimate.n) * (100 - named.percent) < 100 * handful;
    });
  }
  return false;
}

// Counts and extremes of all repeats: they have no interval.
void take_of_all(const std::string& metric, std::span<const RepeatEstimate> repeats, MetricSummary& summary) {
  const Metric* known = find_metric(metric);
  if (known == nullptr || known->over_repeats == Combine::mean || repeats.size() < 2) return;
  double all = repeats.front().estimate.value;
  for (const RepeatEstimate& repeat : repeats.subspan(1)) {
    const double value = repeat.estimate.value;
    if (known->over_repeats == Combine::sum) all += value;
    if (known->over_repeats == Combine::least) all = std::min(all, value);
    if (known->over_repeats == Combine::most) all = std::max(all, value);
  }
  summary.estimate = {all, {}, {}, summary.estimate.n};
}

// Rounds a value that comes from a bucket 0.5 % wide: four digits are more than is known.
double with_known_digits(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3);
  return unit >= 1 ? std::round(value / unit) * unit : std::round(value / unit) / std::round(1 / unit);
}

// Returns whether the values scatter by factors: all are positive, so the interval is made on the logarithm and never includes 0.
bool by_factors(std::span<const RepeatEstimate> repeats) {
  return std::all_of(repeats.begin(), repeats.end(), [](const RepeatEstimate& repeat) { return repeat.estimate.value > 0; });
}

// Takes the scatter of the logarithms as that of the mean.
void scatter_by_factors(std::span<const MeanEstimate> means, const std::vector<uint64_t>& nodes, MeanEstimate& mean) {
  std::vector<MeanEstimate> logs;
  for (const MeanEstimate& one : means)
    logs.push_back({std::log(one.mean), one.variance_of_mean / (one.mean * one.mean), one.degrees_of_freedom, one.n});
  mean.variance_of_mean = estimate_over_repeats(logs, nodes)->estimate.variance_of_mean * mean.mean * mean.mean;
}

// Returns the interval of a mean over repeats. Values that may be 0 are never negative either: their interval is cut there.
Interval interval_of(const MeanEstimate& mean, bool factors) {
  const double half = mean.variance_of_mean > 0 ? quick_student_factor(mean.degrees_of_freedom) * std::sqrt(mean.variance_of_mean) : 0;
  if (factors) return {mean.mean * std::exp(-half / mean.mean), mean.mean * std::exp(half / mean.mean)};
  return {mean.mean >= 0 ? std::max(0.0, mean.mean - half) : mean.mean - half, mean.mean + half};
}

}  // namespace

MeanEstimate moments_of(const Estimate& estimate) {
  constexpr double batch_means = 32;  // the fewest that a correlated series is cut into (stats/correlated.h)
  MeanEstimate mean{estimate.value, 0, std::clamp(static_cast<double>(estimate.n) - 1, 1.0, batch_means - 1), estimate.n};
  if (estimate.low && estimate.high && *estimate.high > *estimate.low) {
    const double error = (*estimate.high - *estimate.low) / 2 / quick_student_factor(mean.degrees_of_freedom);
    mean.variance_of_mean = error * error;
  }
  return mean;
}

void pool_percentile(const std::string& metric, std::span<const LatencySketch> clusters, int64_t independent, MetricSummary& summary) {
  if (!summary.over_repeats || clusters.empty()) return;
  for (const NamedPercentile& named : latency_percentiles) {
    if (metric != latency_metric_id(named.name)) continue;
    const auto pooled = pooled_percentile(clusters, named.percent);
    if (!pooled || !std::isfinite(pooled->value)) return;
    Estimate& estimate = summary.estimate;
    const Interval own = interval_of(summary.mean, summary.mean.mean > 0);
    estimate.value = with_known_digits(pooled->value);
    const auto counted = static_cast<size_t>(independent);
    const bool has_low = pooled->low && percentile_low_rank(counted, named.percent);
    const bool has_high = pooled->high && percentile_high_rank(counted, named.percent);
    estimate.low = has_low ? std::optional(with_known_digits(std::min(*pooled->low, own.low))) : std::nullopt;
    estimate.high = has_high ? std::optional(with_known_digits(std::max(*pooled->high, own.high))) : std::nullopt;
  }
}

void keep_within_extremes(std::map<std::string, MetricSummary>& metrics) {
  const auto least = metrics.find(latency_metric_id("min")), most = metrics.find(latency_metric_id("max"));
  if (least == metrics.end() || most == metrics.end()) return;
  const double low = least->second.estimate.value, high = most->second.estimate.value;
  for (const NamedPercentile& named : latency_percentiles) {
    const auto found = metrics.find(latency_metric_id(named.name));
    if (found == metrics.end() || !found->second.over_repeats) continue;
    double& value = found->second.estimate.value;
    value = std::max(low, std::min(high, value));
  }
}

double half_width_of(const Estimate& estimate) {
  const double around = std::max(*estimate.high - estimate.value, estimate.value - *estimate.low);
  if (!(estimate.value > 0) || !(*estimate.low > 0)) return around;
  return estimate.value * std::log(*estimate.high / *estimate.low) / 2;
}

void know_as_average(const std::string& metric, int64_t values, MetricSummary& summary) {
  if (values < 2 || metric.starts_with("accuracy_")) return;
  summary.over_repeats = true;
  summary.repeats.clear();
  const Estimate& estimate = summary.estimate;
  MeanEstimate& mean = summary.mean;
  mean.degrees_of_freedom = static_cast<double>(values - 1);
  mean.variance_of_mean = 0;
  if (!estimate.low || !estimate.high) return;
  const double error = half_width_of(estimate) / quick_student_factor(mean.degrees_of_freedom);
  mean.variance_of_mean = error * error;
}

std::optional<MetricSummary> combine_repeats(const std::string& metric, std::span<const RepeatEstimate> repeats, uint64_t unnamed,
                                             bool by_looks) {
  std::vector<MeanEstimate> means;
  std::vector<RepeatValue> values;
  std::vector<uint64_t> nodes;
  for (const RepeatEstimate& repeat : repeats) {
    means.push_back(moments_of(repeat.estimate));
    nodes.push_back(repeat.node == 0 ? unnamed : repeat.node);
    values.push_back({repeat.block, means.back().mean, means.back().variance_of_mean, nodes.back()});
  }
  auto over = estimate_over_repeats(means, nodes);
  if (!over) return std::nullopt;
  const bool factors = over->over_repeats && by_factors(repeats);
  if (factors) scatter_by_factors(means, nodes, over->estimate);
  if (by_looks && over->over_repeats) over->estimate.variance_of_mean *= ended_by_looks * ended_by_looks;
  MetricSummary summary{{over->estimate.mean, {}, {}, over->estimate.n}, over->estimate, over->over_repeats, std::move(values)};
  if (!over->over_repeats) {
    summary.estimate = repeats[0].estimate;  // its own interval, which need not be symmetric
  } else {
    const Interval interval = interval_of(over->estimate, factors);
    summary.estimate.low = interval.low;
    if (!is_of_a_handful(metric, repeats) && std::isfinite(interval.high)) summary.estimate.high = interval.high;
  }
  take_of_all(metric, repeats, summary);
  return summary;
}

}  // namespace deepgap
