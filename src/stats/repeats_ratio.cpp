#include "stats/repeats_ratio.h"

#include "stats/moments.h"
#include "stats/nested.h"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace deepgap {
namespace {

constexpr double power = 0.8;
constexpr size_t most_repeats = 10'000;

double relative_variance(const RepeatValue& repeat) { return repeat.variance / (repeat.value * repeat.value); }

std::vector<ProcessValue> logs_of(std::span<const RepeatValue> repeats) {
  std::vector<ProcessValue> logs;
  for (const RepeatValue& repeat : repeats) logs.push_back({std::log(repeat.value), relative_variance(repeat), repeat.node});
  return logs;
}

RepeatsRatio ratio_of(const NestedMean& logs, bool paired) {
  const MeanEstimate& mean = logs.estimate;
  return {std::exp(mean.mean),
          std::sqrt(mean.variance_of_mean),
          mean.degrees_of_freedom,
          paired,
          static_cast<size_t>(logs.nodes > 1 ? logs.nodes : mean.n),
          logs.nodes > 1};
}

std::optional<RepeatsRatio> paired(std::span<const RepeatValue> first, std::span<const RepeatValue> second) {
  std::multimap<uint64_t, const RepeatValue*> others;
  for (const RepeatValue& repeat : second) others.emplace(repeat.block, &repeat);
  std::vector<ProcessValue> logs;
  for (const RepeatValue& repeat : first) {
    const auto other = others.find(repeat.block);
    if (other == others.end()) continue;
    logs.push_back(
        {std::log(repeat.value / other->second->value), relative_variance(repeat) + relative_variance(*other->second), repeat.node});
    others.erase(other);
  }
  if (logs.size() < fewest_repeats) return std::nullopt;
  return ratio_of(nested_mean(logs), true);
}

using Nodes = std::map<uint64_t, Moments>;

Nodes nodes_of(const std::vector<ProcessValue>& logs) {
  Nodes nodes;
  for (const ProcessValue& log : logs) nodes[log.node].add(log.value);
  return nodes;
}

// Node against node, of those that measured both: each difference with what processes leave open in it.
std::optional<RepeatsRatio> paired_by_node(const std::vector<ProcessValue>& first, const std::vector<ProcessValue>& second) {
  const Nodes a = nodes_of(first), b = nodes_of(second);
  if (a.size() < fewest_repeats || b.size() < fewest_repeats) return std::nullopt;
  const double of_a = nested_mean(first).process_variance, of_b = nested_mean(second).process_variance;
  std::vector<ProcessValue> differences;
  for (const auto& [node, logs] : a) {
    const auto other = b.find(node);
    if (other == b.end()) continue;
    const double open = of_a / static_cast<double>(logs.count()) + of_b / static_cast<double>(other->second.count());
    differences.push_back({logs.mean() - other->second.mean(), open, node});
  }
  if (differences.size() < fewest_repeats) return std::nullopt;
  return ratio_of(nested_mean(differences), true);
}

double mean_of(const std::vector<ProcessValue>& logs) { return logs.size() == 1 ? logs.front().value : nested_mean(logs).estimate.mean; }

// If one group was measured on one node, makes it as uncertain as that node is.
void add_node_of(NestedMean& one, const NestedMean& several) {
  if (one.nodes > 1 || several.nodes < 2) return;
  one.estimate.variance_of_mean += several.node_variance;
  one.estimate.degrees_of_freedom = std::min(one.estimate.degrees_of_freedom, several.estimate.degrees_of_freedom);
}

RepeatsRatio of_groups(NestedMean a, NestedMean b) {
  add_node_of(a, b);
  add_node_of(b, a);
  const double va = a.estimate.variance_of_mean, vb = b.estimate.variance_of_mean;
  const double da = a.estimate.degrees_of_freedom, db = b.estimate.degrees_of_freedom;
  const double spread = va * va / da + vb * vb / db;
  const bool over_nodes = a.nodes > 1 || b.nodes > 1;
  const int64_t least = over_nodes ? std::min(a.nodes, b.nodes) : std::min(a.estimate.n, b.estimate.n);
  return {std::exp(a.estimate.mean - b.estimate.mean),
          std::sqrt(va + vb),
          spread > 0 ? (va + vb) * (va + vb) / spread : std::min(da, db),
          false,
          static_cast<size_t>(least),
          over_nodes};
}

double student_quantile(double degrees_of_freedom, double probability) {
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), probability);
}

// The factor between a standard error and the difference that is shown with that power.
double detection_factor(double degrees_of_freedom, double confidence) {
  return student_factor(degrees_of_freedom, confidence) + student_quantile(degrees_of_freedom, power);
}

}  // namespace

Interval RepeatsRatio::interval(double confidence) const {
  const double half = log_error > 0 ? student_factor(degrees_of_freedom, confidence) * log_error : 0;
  return {ratio * std::exp(-half), ratio * std::exp(half)};
}

double RepeatsRatio::p_value() const {
  if (!known()) return 1;
  if (!(log_error > 0)) return ratio == 1 ? 1 : 0;
  const double t = std::abs(std::log(ratio)) / log_error;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(degrees_of_freedom), t));
}

std::optional<RepeatsRatio> ratio_of_repeats(std::span<const RepeatValue> first, std::span<const RepeatValue> second) {
  const auto positive = [](const RepeatValue& repeat) { return std::isfinite(repeat.value) && repeat.value > 0; };
  if (first.empty() || second.empty()) return std::nullopt;
  if (!std::all_of(first.begin(), first.end(), positive) || !std::all_of(second.begin(), second.end(), positive)) return std::nullopt;
  if (auto found = paired(first, second)) return found;
  const std::vector<ProcessValue> a = logs_of(first), b = logs_of(second);
  if (const size_t fewest = std::min(a.size(), b.size()); fewest < fewest_repeats)
    return RepeatsRatio{std::exp(mean_of(a) - mean_of(b)), 0, 0, false, fewest};
  if (auto found = paired_by_node(a, b)) return found;
  return of_groups(nested_mean(a), nested_mean(b));
}

Difference difference(const RepeatsRatio& ratio, double margin, double confidence) {
  if (!ratio.known()) return Difference::unknown;
  const Interval both_sides = ratio.interval(2 * confidence - 1);
  if (margin > 0 && both_sides.low > 1 / (1 + margin) && both_sides.high < 1 + margin) return Difference::same;
  const Interval interval = ratio.interval(confidence);
  return interval.low > 1 ? Difference::more : interval.high < 1 ? Difference::less : Difference::unknown;
}

double smallest_effect(const RepeatsRatio& ratio, double confidence) {
  if (!ratio.known()) return std::numeric_limits<double>::infinity();
  return std::expm1(detection_factor(ratio.degrees_of_freedom, confidence) * ratio.log_error);
}

size_t repeats_needed(const RepeatsRatio& ratio, double effect, double confidence) {
  if (!ratio.known() || !(effect > 0)) return 0;
  const double deviation = ratio.log_error * std::sqrt(static_cast<double>(ratio.repeats));
  const double per_repeat = ratio.degrees_of_freedom / static_cast<double>(ratio.repeats);  // about 1 paired, 2 in groups
  const auto shown = [&](size_t k) {
    const double dof = std::max(1.0, ratio.paired ? static_cast<double>(k) - 1 : per_repeat * static_cast<double>(k));
    return detection_factor(dof, confidence) * deviation / std::sqrt(static_cast<double>(k)) <= std::log1p(effect);
  };
  if (!shown(most_repeats)) return most_repeats;
  size_t low = fewest_repeats, high = most_repeats;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (shown(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace deepgap
