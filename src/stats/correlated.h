// The interval of a mean, or of a ratio of sums, when neighbouring observations resemble each other.
//
// Successive timings are correlated: clocks drift, neighbours come and go. The plain interval s/sqrt(n) then is too narrow, by a factor of
// four at a lag-1 correlation of 0.9. Non-overlapping batch means repair it: cut the series into k equal stretches; the longer they are,
// the less their means are correlated, and the scatter of those k means is the uncertainty. We keep 32 <= k < 64, never fewer stretches
// and never a choice made by looking at the result. What correlation is left between neighbouring stretches (r, lag 1, freed of its
// small-sample bias, counted only when positive) widens the variance by w = (1 + r) / (1 - r), as if the batch means were
// AR(1); k / w - 1 are then the degrees of freedom. Above r = 0.5, stretches that swing have a w of their own (swings.h).
//   Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30 (1982): 10 to 30 batches suffice.
//   Tafazzoli, Wilson, Lada, Steiger, "Skart: a skewness- and autoregression-adjusted batch-means procedure" (2011): the factor.
//   Kendall, "Note on bias in the estimation of autocorrelation", Biometrika 41 (1954): the bias -(1 + 4 r)/k.
// Cost: O(1) an observation, constant memory: when 64 stretches are full, neighbours are merged and the stretches are twice as long.
// correlated_test.cpp shows the coverage; e.g. AR(1) with 0.9 and 2000 observations: about 95 % of the 95 % intervals hold the truth.
//
// Limits. A disturbance slower than the series is not seen: that is what repeats are for. Where one watches the interval and stops as
// soon as it is narrow, one stops a little too often when it is narrow by chance, and the interval of such a run covers less than it
// says: nothing of it is left in the limit (Chow and Robbins, "On the asymptotic theory of fixed-width sequential confidence intervals",
// 1965), some is at small n. scenario/stopping/interval.cpp holds against it; scenario/stopping_test.cpp measures what remains.
#pragma once

#include "stats/interval.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace deepgap {

// sum(y) / sum(x) of a series of pairs, such as nanoseconds over items. With x = 1 it is the mean of y.
class RatioSeries {
 public:
  void add(double y, double x);

  int64_t count() const { return count_; }
  double sum_y() const { return total_.y; }
  double sum_x() const { return total_.x; }
  // Returns nullopt below two stretches or when the sum of x is not positive. `n` is the number of observations.
  std::optional<MeanEstimate> estimate() const;
  // y / x of each full stretch in order of time: at most 64 numbers that stand for the whole series.
  std::vector<double> batch_ratios() const;
  int64_t batch_size() const { return batch_size_; }

 private:
  static constexpr size_t max_batches = 64;
  struct Sums {
    double y = 0, x = 0;
  };
  void merge_neighbours();

  std::array<Sums, max_batches> batches_{};
  size_t batch_count_ = 0;  // full ones
  int64_t batch_size_ = 1;  // observations in each
  Sums open_;               // the stretch being filled
  int64_t open_size_ = 0;
  Sums total_;
  int64_t count_ = 0;
};

std::optional<MeanEstimate> estimate_correlated_mean(std::span<const double> series);

// Lag-1 autocorrelation, 0 for a constant or shorter than three.
double lag1_correlation(std::span<const double> series);

}  // namespace deepgap
