#include "analysis/comparison.h"

#include "analysis/words.h"
#include "stats/compare.h"

#include <fmt/format.h>

namespace deepgap {

std::optional<Comparison> compare_points(const PointSummary& first, const PointSummary& second, const std::string& metric) {
  const MetricSummary* a = first.find(metric);
  const MetricSummary* b = second.find(metric);
  if (a == nullptr || b == nullptr) return std::nullopt;
  const auto ratio = estimate_ratio(a->mean, b->mean);
  if (!ratio) return std::nullopt;
  Comparison comparison{ratio->ratio, {}, a->over_repeats && b->over_repeats};
  if (a->estimate.low && b->estimate.low) comparison.interval = ratio->interval;
  return comparison;
}

std::string comparison_words(const Comparison& comparison, const std::string& other) {
  if (!comparison.interval) return fmt::format("{} times that of {} (no interval known)", format_ratio(comparison.ratio), other);
  const std::string ratio = format_ratio(comparison.ratio);
  constexpr double meaningless = 20;  // beyond such a range numbers would only look like knowledge
  if (!comparison.separable() && comparison.interval->high > meaningless * comparison.interval->low) {
    return fmt::format("not separable from {} (ratio {}, the scatter is too large to say more)", other, ratio);
  }
  const std::string low = format_ratio(comparison.interval->low), high = format_ratio(comparison.interval->high);
  if (!comparison.separable()) return fmt::format("not separable from {} (ratio {}, {} to {})", other, ratio, low, high);
  return fmt::format("{} times ({} to {}) that of {}", ratio, low, high, other);
}

}  // namespace deepgap
