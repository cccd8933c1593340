// Interval, and the Student intervals everything else here is built on. Numbers in, numbers out; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace deepgap {

inline constexpr double default_confidence = 0.95;

struct Interval {
  double low = 0;
  double high = 0;

  double half_width() const { return (high - low) / 2; }
};

// A mean with the variance of that mean and the degrees of freedom behind the variance: what the functions below pass to each other.
struct MeanEstimate {
  double mean = 0;
  double variance_of_mean = 0;
  double degrees_of_freedom = 0;
  int64_t n = 0;

  // mean +- t * sqrt(variance_of_mean)
  Interval interval(double confidence = default_confidence) const;
};

// If looks at the scatter ended the measuring, the error of a mean is so many times what its values say: such an end prefers moments at
// which the scatter looks small. By simulation: bench/coverage, auto_repeats.
inline constexpr double ended_by_looks = 1.06;
inline constexpr int fewest_auto_repeats = 5;  // values before the first look

// t with P(|T| <= t) = confidence. Student, "The probable error of a mean", Biometrika 6 (1908); quantile by Boost.Math.
double student_factor(double degrees_of_freedom, double confidence = default_confidence);

// Mean of independent observations. nullopt below two of them.
std::optional<MeanEstimate> estimate_mean(std::span<const double> values);

}  // namespace deepgap
