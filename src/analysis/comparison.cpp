#include "analysis/comparison.h"

#include "analysis/duel/arm.h"
#include "analysis/ratio_text.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

// A Metric that is computed from others, as a cost is, has moments but no value of each repeat: Welch's comparison of the means.
std::optional<RepeatsRatio> ratio_of_moments(const MetricSummary& first, const MetricSummary& second) {
  if (!(first.mean.mean > 0) || !(second.mean.mean > 0)) return std::nullopt;
  const double a = first.mean.variance_of_mean / (first.mean.mean * first.mean.mean);
  const double b = second.mean.variance_of_mean / (second.mean.mean * second.mean.mean);
  const double da = std::max(1.0, first.mean.degrees_of_freedom), db = std::max(1.0, second.mean.degrees_of_freedom);
  RepeatsRatio ratio{first.mean.mean / second.mean.mean, std::sqrt(a + b), 0, false, 1};
  if (!first.over_repeats || !second.over_repeats) return ratio;
  ratio.repeats = 0;  // the repeats are not here, and their scatter was not reported
  if (!first.estimate.low || !second.estimate.low) return ratio;
  ratio.repeats = static_cast<size_t>(std::min(da, db)) + 1;
  if (ratio.repeats < fewest_repeats) return ratio;
  const double spread = a * a / da + b * b / db;
  ratio.degrees_of_freedom = spread > 0 ? (a + b) * (a + b) / spread : std::min(da, db);
  return ratio;
}

// Compares two arms of one start by its pairs of time slices; one of the two was compared with the other in them. nullopt: they did not
// take turns, or there are starts enough to compare as repeats.
std::optional<RepeatsRatio> ratio_of_turns(const PointSummary& first, const PointSummary& second) {
  const auto a = arm_of(first), b = arm_of(second);
  if (!a || !b || (a->number == 1) == (b->number == 1) || a->common != b->common) return std::nullopt;
  const PointSummary& other = a->number == 1 ? second : first;
  const MetricSummary* found = other.find("duel_ratio");
  if (found == nullptr || other.used >= static_cast<int64_t>(fewest_repeats) || !(found->estimate.value > 0)) return std::nullopt;
  const Estimate& estimate = found->estimate;
  RepeatsRatio ratio{a->number == 1 ? 1 / estimate.value : estimate.value, 0, 0, true, 1};
  const bool is_known = estimate.low && estimate.high && *estimate.low > 0;
  if (!is_known) return a->is_contender ? std::optional(ratio) : std::nullopt;
  constexpr double normal = 1e6;  // degrees of freedom: the interval holds what few turns leave unknown already
  ratio.log_error = std::log(*estimate.high / *estimate.low) / 2 / student_factor(normal);
  ratio.degrees_of_freedom = normal;
  ratio.repeats = static_cast<size_t>(estimate.n);
  return ratio;
}

}  // namespace

std::optional<Comparison> compare_points(const PointSummary& first, const PointSummary& second, const std::string& metric,
                                         double confidence) {
  const MetricSummary* a = first.find(metric);
  const MetricSummary* b = second.find(metric);
  if (a == nullptr || b == nullptr) return std::nullopt;
  const bool has_repeats = !a->repeats.empty() && !b->repeats.empty();
  const auto of_turns = metric == "throughput" ? ratio_of_turns(first, second) : std::optional<RepeatsRatio>();
  auto ratio = of_turns ? of_turns : has_repeats ? ratio_of_repeats(a->repeats, b->repeats) : ratio_of_moments(*a, *b);
  if (!ratio) return std::nullopt;
  const bool by_looks = first.stopping.auto_repeats || second.stopping.auto_repeats;  // their number of repeats depended on the results
  if (by_looks && has_repeats && !of_turns) ratio->log_error *= ended_by_looks;
  Comparison comparison{ratio->ratio, {}, ratio->known(), *ratio};
  if (ratio->known()) comparison.interval = ratio->interval(confidence);
  return comparison;
}

double certain_effect(const std::optional<Comparison>& comparison) {
  if (!comparison || !comparison->separable() || !(comparison->interval->low > 0)) return 0;
  return std::min(std::abs(std::log(comparison->interval->low)), std::abs(std::log(comparison->interval->high)));
}

std::string why_too_few(const Comparison& comparison) {
  if (comparison.repeats.repeats == 0) return "an average without an interval";
  if (comparison.repeats.repeats == 1) return "single run";
  return fmt::format("{} repeats, where a comparison takes {}", comparison.repeats.repeats, fewest_repeats);
}

std::string common_caveat(const std::vector<const Comparison*>& comparisons) {
  const std::string caveat = comparisons.empty() ? "" : why_too_few(*comparisons.front());
  const bool common = std::all_of(comparisons.begin(), comparisons.end(), [&](const Comparison* comparison) {
    return !comparison->interval && why_too_few(*comparison) == caveat;
  });
  return common ? caveat : "";
}

std::string ratio_in_words(const Comparison& comparison) {
  if (!comparison.interval) return fmt::format("{} ({})", format_ratio(comparison.ratio), why_too_few(comparison));
  const RatioText text = ratio_text(comparison.ratio, *comparison.interval);
  return fmt::format("{} ({}{})", text.ratio, text.range, comparison.separable() ? "" : ", no significant difference");
}

std::string comparison_words(const Comparison& comparison, const std::string& other) {
  if (!comparison.interval) return fmt::format("not compared with {} ({})", other, why_too_few(comparison));
  const auto [ratio, range] = ratio_text(comparison.ratio, *comparison.interval);
  if (!comparison.separable()) return fmt::format("not significantly different from {}, {}x ({})", other, ratio, range);
  return fmt::format("{}x ({}) that of {}", ratio, range, other);
}

}  // namespace deepgap
