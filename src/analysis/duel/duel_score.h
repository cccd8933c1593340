// DuelScore: what the turns of a duel have shown so far, of every contender against the first. Several comparisons with the first share
// 5 % out among themselves (Bonferroni), so that all their intervals hold together. One thread.
#pragma once

#include "stats/sequential.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// The result of one contender against the first.
struct DuelStanding {
  int64_t pairs = 0;                 // behind the ratio
  double seconds = 0;                // sum of the time that their turns took
  double ratio = 1;                  // items per second over the first one's
  std::optional<Interval> interval;  // absent where too little was seen to state one
  SeriesShape shape = SeriesShape::steady;
  Resolution resolution = Resolution::resolved;
  Difference difference = Difference::unknown;
  int64_t pairs_needed = 0;  // more, to settle it; 0: none, or not known
};

// The difference that an interval of a ratio shows: same, within the margin of 1; more or less, it leaves out 1.
Difference difference_of(const Interval& ratio, double margin);

class DuelScore {
 public:
  DuelScore(size_t contenders, double margin);

  // Items a second of each contender in one round of turns, 0 for one that has none, and the seconds that the round's turns took; a pair
  // without both is left out.
  void add_round(std::span<const double> items_per_s, double seconds);
  int64_t rounds() const { return rounds_; }
  // Returns whether it is known which of the two is faster, or that they are the same within the margin. Not for the first.
  bool settled(size_t contender) const { return against_first_.at(contender - 1).decision() != Difference::unknown; }
  DuelStanding standing(size_t contender) const;

 private:
  std::vector<PairedSequence> against_first_;  // one for each contender but the first
  int64_t rounds_ = 0;
};

// Returns "1.07 times (1.05 to 1.09) that of native", "the same as that of native within 2 % (ratio 1.003, 0.991 to 1.01)", "not told apart
// from that of native (ratio 1.01, 0.96 to 1.07)" or "not told apart from that of native after 20 pairs of turns", and where no interval is
// stated, why.
std::string duel_words(const DuelStanding& standing, const std::string& first, double margin);
// "4 s", "about 3 minutes"
std::string needed_words(double seconds);

}  // namespace deepgap
