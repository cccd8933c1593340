// Mean and variance in one pass without cancellation.
// Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962); merging after Chan,
// Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>

namespace deepgap {

class Moments {
 public:
  void add(double value) {
    ++count_;
    const double delta = value - mean_;
    mean_ += delta / static_cast<double>(count_);
    squares_ += delta * (value - mean_);
  }
  void merge(const Moments& other) {
    if (other.count_ == 0) return;
    const auto n = static_cast<double>(count_), m = static_cast<double>(other.count_);
    const double delta = other.mean_ - mean_;
    mean_ += delta * m / (n + m);
    squares_ += other.squares_ + delta * delta * n * m / (n + m);
    count_ += other.count_;
  }

  int64_t count() const { return count_; }
  double mean() const { return mean_; }
  double variance() const { return count_ < 2 ? 0 : squares_ / static_cast<double>(count_ - 1); }  // unbiased
  double standard_deviation() const { return std::sqrt(variance()); }

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

// Their sum over their count; 0 of none.
inline double mean_of(std::span<const double> values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace deepgap
