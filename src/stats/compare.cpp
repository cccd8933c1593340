#include "stats/compare.h"

#include "stats/moments.h"

#include <algorithm>
#include <cmath>

namespace deepgap {

std::optional<RepeatsEstimate> estimate_over_repeats(std::span<const MeanEstimate> repeats) {
  if (repeats.empty()) return std::nullopt;
  if (repeats.size() == 1) return RepeatsEstimate{repeats[0], 0, false};
  Moments means;
  double within = 0;
  int64_t n = 0;
  for (const MeanEstimate& repeat : repeats) {
    means.add(repeat.mean);
    within += repeat.variance_of_mean / static_cast<double>(repeats.size());
    n += repeat.n;
  }
  const auto k = static_cast<double>(repeats.size());
  const double variance = std::max(means.variance(), within);
  return RepeatsEstimate{{means.mean(), variance / k, k - 1, n}, std::max(0.0, means.variance() - within), true};
}

std::optional<RatioEstimate> estimate_ratio(const MeanEstimate& numerator, const MeanEstimate& denominator, double confidence) {
  if (!(numerator.mean > 0) || !(denominator.mean > 0)) return std::nullopt;
  const double ratio = numerator.mean / denominator.mean;
  const double a = numerator.variance_of_mean / (numerator.mean * numerator.mean);
  const double b = denominator.variance_of_mean / (denominator.mean * denominator.mean);
  if (a + b <= 0) return RatioEstimate{ratio, {ratio, ratio}};
  const auto term = [](double v, double dof) { return v > 0 ? v * v / std::max(dof, 1.0) : 0; };
  const double dof = (a + b) * (a + b) / (term(a, numerator.degrees_of_freedom) + term(b, denominator.degrees_of_freedom));
  const double half = student_factor(dof, confidence) * std::sqrt(a + b);
  return RatioEstimate{ratio, {ratio * std::exp(-half), ratio * std::exp(half)}};
}

}  // namespace deepgap
