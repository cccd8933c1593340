#include "plan/duel_turns.h"

#include "plan/shuffle.h"

#include <algorithm>
#include <numeric>

namespace deepgap {

DuelTurns::DuelTurns(size_t contenders, uint64_t seed) : random_(seed), order_(contenders) {
  std::iota(order_.begin(), order_.end(), size_t{0});
}

std::vector<size_t> DuelTurns::next_round() {
  backwards_ = !backwards_;
  if (backwards_) {
    std::reverse(order_.begin(), order_.end());
  } else {
    shuffle(order_, random_);
  }
  return order_;
}

void DuelTurns::leave_out(size_t contender) { std::erase(order_, contender); }

}  // namespace deepgap
