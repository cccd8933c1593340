// An interval that may be looked at while a duel goes on, and stopped at whenever one likes: it holds the truth at all looks together with
// its confidence. It covers the mean of logarithms of paired ratios, by the normal mixture (Robbins 1970) with the variance as it is found:
//   Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49
//   (2021); Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory", Annals of Statistics 52 (2024), for the
//   variance.
// Both take pairs for independent. Where a disturbance outlasts a turn they are not, and the plain interval is wrong in 25 % of duels at a
// correlation of 0.9. What helps, and is done here:
//  - the variance is that of 32 to 63 batch means with their lag-1 correlation (correlated.h), and that correlation is taken 1.5 of its
//    standard errors higher than it was found, since a short series shows too little of it;
//  - looks are a tenth apart;
//  - no decision while the ratio itself moves: a trend, a step or two levels that take turns (stationarity.h);
//  - nor while batches still resemble each other so much that what moves them is not over within them (`wandering`): so few
//    independent stretches do not show a variance. The interval is then wider by twice the range of all batches, and is stated where it
//    leaves out 1 even so, or where that range is within the margin;
//  - before 100 s of turns the interval is wider by what a state of the machine or of a contender could still look like (see
//    state_allowance). A state that lasts for T seconds on average looks like a difference where a duel falls into one: of t seconds a
//    share exp(-t / T) sees nothing else, and no method can know. 100 s hold that below 2 % up to T = 25 s. Sooner only a difference counts
//    that no such state makes: twice the speed after 5 s, a fifth after 20 s, a twentieth after a minute.
// bench/coverage counts how often what is stated leaves the truth out, and what is not reached. Constant memory.
#pragma once

#include "stats/correlated.h"
#include "stats/interval.h"
#include "stats/repeats_ratio.h"
#include "stats/stationarity.h"

#include <cstdint>
#include <optional>

namespace deepgap {

// States whether a series of pairs is long enough for an interval to be stated.
enum class Resolution {
  resolved,
  too_short,  // too few seconds for any difference to count
  wandering   // neighbouring batches still resemble each other, and move by as much as is to be seen
};

// Returns the factor, as a logarithm, by which a state of the machine that outlasts so many seconds of turns could make two equal
// contenders differ. 0 from 100 s on.
double state_allowance(double seconds);

class PairedSequence {
 public:
  static constexpr int64_t first_look = 8;
  static constexpr double shortest_s = 5;  // seconds of turns before an interval is stated
  static constexpr double whole_s = 100;   // seconds of turns from which no state of the machine is allowed for

  // `margin`: above 0, a difference within it is none.
  explicit PairedSequence(double margin, double confidence = default_confidence) : margin_(margin), confidence_(confidence) {}

  // Adds items a second of both contenders in one round of turns, which took `seconds`. If a value of the pair is not positive, the time
  // alone counts.
  void add(double first, double second, double seconds);

  int64_t pairs() const { return series_.count(); }
  double seconds() const { return seconds_; }  // seconds of all rounds
  double ratio() const;                        // first over second, of all pairs so far; 1 before the first one

  // The state at the last look.
  struct Look {
    int64_t pairs = 0;
    double ratio = 1;
    Interval interval;
    SeriesShape shape = SeriesShape::steady;  // shape of the ratio over time; differences within the margin do not matter
    Resolution resolution = Resolution::resolved;

    // Returns whether the interval may be shown.
    bool is_stated() const { return resolution == Resolution::resolved && shape == SeriesShape::steady; }
  };
  const std::optional<Look>& last_look() const { return look_; }  // nullopt below first_look pairs

  // same: the interval lies within a factor of 1 + margin of 1; else more or less: it leaves out 1. unknown while none is stated.
  Difference decision() const;
  // Returns how many more pairs it takes to decide, with the scatter and the ratio seen; 0: none, or not known, as when it wanders.
  int64_t pairs_needed() const;

 private:
  void look();
  double half_width(double pairs) const;

  double margin_, confidence_;
  RatioSeries series_;  // logarithms of the ratios
  double seconds_ = 0;
  double spread_ = 0;       // scatter of one pair, as if pairs were independent, at the last look
  double looked_at_s_ = 0;  // seconds_ then
  std::optional<Look> look_;
  int64_t next_look_ = first_look;
};

}  // namespace deepgap
