#include "stats/interval.h"

#include "stats/moments.h"

#include <boost/math/distributions/students_t.hpp>

#include <cmath>

namespace deepgap {

Interval MeanEstimate::interval(double confidence) const {
  const double half = variance_of_mean > 0 ? student_factor(degrees_of_freedom, confidence) * std::sqrt(variance_of_mean) : 0;
  return {mean - half, mean + half};
}

double student_factor(double degrees_of_freedom, double confidence) {
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), (1 + confidence) / 2);
}

std::optional<MeanEstimate> estimate_mean(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  Moments moments;
  for (const double value : values) moments.add(value);
  const auto n = static_cast<double>(values.size());
  return MeanEstimate{moments.mean(), moments.variance() / n, n - 1, moments.count()};
}

}  // namespace deepgap
