#include "plan/duel_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace deepgap {
namespace {

using testing::UnorderedElementsAre;

TEST(DuelTurns, EachRoundIsFollowedByItsMirror) {
  DuelTurns turns(3, 1);
  for (int i = 0; i < 20; ++i) {
    const std::vector<size_t> there = turns.next_round();
    std::vector<size_t> back = turns.next_round();
    EXPECT_THAT(there, UnorderedElementsAre(0, 1, 2));
    std::reverse(back.begin(), back.end());
    EXPECT_EQ(there, back);
  }
}

TEST(DuelTurns, NobodyComesFirstMoreThanByChance) {
  DuelTurns turns(2, 2);
  int first = 0;
  for (int i = 0; i < 1000; ++i) {
    first += turns.next_round().front() == 0 ? 1 : 0;
    turns.next_round();
  }
  EXPECT_NEAR(first, 500, 5 * 16);
}

TEST(DuelTurns, TheSameSeedGivesTheSameOrder) {
  DuelTurns a(4, 7), b(4, 7), other(4, 8);
  bool differs = false;
  for (int i = 0; i < 10; ++i) {
    const auto round = a.next_round();
    EXPECT_EQ(round, b.next_round());
    differs = differs || round != other.next_round();
  }
  EXPECT_TRUE(differs);
}

TEST(DuelTurns, OneThatFailedHasNoTurnAnyMore) {
  DuelTurns turns(3, 3);
  turns.next_round();
  turns.leave_out(1);
  EXPECT_THAT(turns.next_round(), UnorderedElementsAre(0, 2));
  EXPECT_THAT(turns.next_round(), UnorderedElementsAre(0, 2));
}

}  // namespace
}  // namespace deepgap
