#include "stats/compare.h"

#include "stats/nested.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace deepgap {

std::optional<RepeatsEstimate> estimate_over_repeats(std::span<const MeanEstimate> repeats, std::span<const uint64_t> nodes) {
  if (repeats.empty()) return std::nullopt;
  if (repeats.size() == 1) return RepeatsEstimate{repeats[0], 0, false, 1};
  std::vector<ProcessValue> values;
  int64_t n = 0;
  for (size_t i = 0; i < repeats.size(); ++i) {
    values.push_back({repeats[i].mean, repeats[i].variance_of_mean, nodes.empty() ? 0 : nodes[i]});
    n += repeats[i].n;
  }
  NestedMean mean = nested_mean(values);
  mean.estimate.n = n;
  return RepeatsEstimate{mean.estimate, mean.between_variance, true, mean.nodes};
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
