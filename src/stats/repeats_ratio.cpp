#include "stats/repeats_ratio.h"

#include "stats/moments.h"

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

struct Level {
  double mean = 0, variance_of_mean = 0, degrees_of_freedom = 0;
};

// Never surer than the scatter within the repeats allows: agreement by chance is no certainty.
Level level_of(const Moments& logs, double within) {
  const auto k = static_cast<double>(logs.count());
  return {logs.mean(), std::max(logs.variance(), within / k) / k, k - 1};
}

double relative_variance(const RepeatValue& repeat) { return repeat.variance / (repeat.value * repeat.value); }

Level group_of(std::span<const RepeatValue> repeats) {
  Moments logs;
  double within = 0;
  for (const RepeatValue& repeat : repeats) {
    logs.add(std::log(repeat.value));
    within += relative_variance(repeat);
  }
  return level_of(logs, within);
}

std::optional<RepeatsRatio> paired(std::span<const RepeatValue> first, std::span<const RepeatValue> second) {
  std::multimap<uint64_t, const RepeatValue*> others;
  for (const RepeatValue& repeat : second) others.emplace(repeat.block, &repeat);
  Moments logs;
  double within = 0;
  for (const RepeatValue& repeat : first) {
    const auto other = others.find(repeat.block);
    if (other == others.end()) continue;
    logs.add(std::log(repeat.value / other->second->value));
    within += relative_variance(repeat) + relative_variance(*other->second);
    others.erase(other);
  }
  if (logs.count() < static_cast<int64_t>(fewest_repeats)) return std::nullopt;
  const Level level = level_of(logs, within);
  return RepeatsRatio{std::exp(level.mean), std::sqrt(level.variance_of_mean), level.degrees_of_freedom, true,
                      static_cast<size_t>(logs.count())};
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
  const Level a = group_of(first), b = group_of(second);
  RepeatsRatio ratio{std::exp(a.mean - b.mean), 0, 0, false, std::min(first.size(), second.size())};
  if (ratio.repeats < fewest_repeats) return ratio;
  const double va = a.variance_of_mean, vb = b.variance_of_mean;
  ratio.log_error = std::sqrt(va + vb);
  const double spread = va * va / a.degrees_of_freedom + vb * vb / b.degrees_of_freedom;
  ratio.degrees_of_freedom = spread > 0 ? (va + vb) * (va + vb) / spread : std::min(a.degrees_of_freedom, b.degrees_of_freedom);
  return ratio;
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
