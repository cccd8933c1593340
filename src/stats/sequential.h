// An interval that may be looked at after every pair, and stopped at whenever one likes: it holds the truth at all times together with its
// confidence. The mean of the logarithms of paired ratios, by the normal mixture (Robbins 1970) with the variance as it is found:
//   Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49
//   (2021); Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory", Annals of Statistics 52 (2024), for the
//   variance.
// Neighbouring pairs resemble each other where a disturbance outlasts a turn: the variance is that of batch means (correlated.h).
// bench/coverage counts how often it ever leaves the truth out. For duels: paired turns of contenders that stay loaded.
#pragma once

#include "stats/correlated.h"
#include "stats/interval.h"
#include "stats/repeats_ratio.h"

#include <cstdint>
#include <optional>

namespace deepgap {

class PairedSequence {
 public:
  static constexpr int64_t fewest_pairs = 20;

  // Items a second of both contenders in one pair of turns. Pairs with a value that is not positive are left out.
  void add(double first, double second);

  int64_t pairs() const { return series_.count(); }
  double ratio() const;  // first over second; 1 before the first pair
  // nullopt below fewest_pairs.
  std::optional<Interval> interval(double confidence = default_confidence) const;
  // As difference() of repeats_ratio.h, at any time: more and less where the interval leaves out 1, same where it lies within the margin.
  Difference decision(double margin) const;
  // How many pairs more it will take until the interval is as narrow as the margin, with the scatter seen; 0: none, or not known yet.
  int64_t pairs_needed(double margin) const;

 private:
  std::optional<double> half_width(double pairs, double confidence) const;
  RatioSeries series_;  // of logarithms
};

}  // namespace deepgap
