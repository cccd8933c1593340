#include "worker/quicker_half.h"

#include <gtest/gtest.h>

#include <utility>

namespace deepgap {
namespace {

TEST(QuickerHalf, LeavesOutTheSlowerRounds) {
  EXPECT_EQ(mean_of_quicker_half({7}), 7);
  EXPECT_EQ(mean_of_quicker_half({900, 4, 2, 800}), 3);
  EXPECT_EQ(mean_of_quicker_half({5, 900, 1, 3, 800}), 3) << "the middle one counts";
}

TEST(QuickerHalf, TakesWhatWasMeasuredBesideTheQuickestRounds) {
  using Round = std::pair<Nanoseconds, Nanoseconds>;  // how long it took, and what else was seen in it
  const std::vector<Round> rounds{{10, 6}, {90, 0}, {20, 8}, {80, 0}};
  EXPECT_EQ(mean_of_quicker_half(
                rounds, [](const Round& round) { return round.first; }, [](const Round& round) { return round.second; }),
            7);
}

}  // namespace
}  // namespace deepgap
