#include "analysis/combine_repeats.h"

#include "record/latency_percentiles.h"
#include "stats/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
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

// Whether each repeat has so few queries that its percentile is that of a handful: below the true one nearly always, in all repeats alike,
// so that their mean says nothing about how high it may be.
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

void pool_percentile(const std::string& metric, std::span<const LatencySketch> clusters, MetricSummary& summary) {
  if (!summary.over_repeats || clusters.empty()) return;
  for (const NamedPercentile& named : latency_percentiles) {
    if (metric != latency_metric_id(named.name)) continue;
    const auto pooled = pooled_percentile(clusters, named.percent);
    if (!pooled || !std::isfinite(pooled->value)) return;
    Estimate& estimate = summary.estimate;
    const MeanEstimate& mean = summary.mean;
    const double half = mean.variance_of_mean > 0 ? quick_student_factor(mean.degrees_of_freedom) * std::sqrt(mean.variance_of_mean) : 0;
    estimate.value = pooled->value;
    estimate.low = pooled->low ? std::optional(std::max(0.0, std::min(*pooled->low, mean.mean - half))) : std::nullopt;
    estimate.high = pooled->high ? std::optional(std::max(*pooled->high, mean.mean + half)) : std::nullopt;
  }
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
  // The farther end: the nearer one may have been cut off at 0.
  const double half = std::max(*estimate.high - estimate.value, estimate.value - *estimate.low);
  const double error = half / quick_student_factor(mean.degrees_of_freedom);
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
  if (by_looks && over->over_repeats) over->estimate.variance_of_mean *= ended_by_looks * ended_by_looks;
  MetricSummary summary{{over->estimate.mean, {}, {}, over->estimate.n}, over->estimate, over->over_repeats, std::move(values)};
  if (!over->over_repeats) {
    summary.estimate = repeats[0].estimate;  // its own interval, which need not be symmetric
  } else {
    const MeanEstimate& mean = over->estimate;
    const double half = mean.variance_of_mean > 0 ? quick_student_factor(mean.degrees_of_freedom) * std::sqrt(mean.variance_of_mean) : 0;
    // What is measured here is never negative, so neither is the end of its interval.
    summary.estimate.low = mean.mean >= 0 ? std::max(0.0, mean.mean - half) : mean.mean - half;
    if (!is_of_a_handful(metric, repeats)) summary.estimate.high = mean.mean + half;
  }
  return summary;
}

}  // namespace deepgap
