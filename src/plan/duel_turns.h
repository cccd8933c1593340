// DuelTurns: in which order the contenders of a duel take their turns. In each round every one has a turn, in a random order; the next
// round has the same order backwards (A B, B A), so that what drifts evenly is in all of them alike, and nobody always comes first. Pure;
// the same seed gives the same order on every machine.
#pragma once

#include <deepgap/clock.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace deepgap {

// The shortest length of a turn (scenario/turn.h has the rest). Short: a disturbance of seconds is then in both turns of a pair.
inline constexpr Nanoseconds duel_slice = 100'000'000;

class DuelTurns {
 public:
  DuelTurns(size_t contenders, uint64_t seed);

  // The contenders of the next round, in the order of their turns; without those that were left out.
  std::vector<size_t> next_round();
  void leave_out(size_t contender);

 private:
  std::mt19937_64 random_;
  std::vector<size_t> order_;
  bool backwards_ = true;  // the last round was
};

}  // namespace deepgap
