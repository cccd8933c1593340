#include "stats/sequential.h"

#include "stats/test_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace deepgap {
namespace {

constexpr double round_s = 0.25;

// Returns the share of duels of 600 pairs, with the true ratio `truth`, whose interval ever leaves it out.
using MakeNoise = std::function<std::vector<double>(std::mt19937_64&)>;
double ever_wrong(double truth, uint64_t seed, const MakeNoise& noise) {
  std::mt19937_64 random(seed);
  return share_of(400, [&] {
    PairedSequence sequence(0.02);
    for (const double value : noise(random)) {
      sequence.add(truth * std::exp(value), 1, round_s);
      const auto& look = sequence.last_look();
      if (!look || !look->is_stated()) continue;
      if (look->interval.low > truth || look->interval.high < truth) return true;
    }
    return false;
  });
}
double ever_wrong(double truth, double rho, uint64_t seed) {
  return ever_wrong(truth, seed, [=](std::mt19937_64& random) { return ar1_series(random, 600, 0, 0.05, rho); });
}

TEST(Sequential, MayBeLookedAtAlways) {
  EXPECT_LE(ever_wrong(1, 0, 1), 0.05);
  EXPECT_LE(ever_wrong(1.07, 0, 2), 0.05);
  EXPECT_LE(ever_wrong(1, 0.5, 3), 0.05) << "turns that resemble each other";
  EXPECT_LE(ever_wrong(1, 0.9, 4), 0.05 + chance(0.05, 400)) << "as they do for ten turns and more";
  EXPECT_LE(ever_wrong(1, 0.99, 5), 0.05 + chance(0.05, 400)) << "and for a hundred";
}

TEST(Sequential, AStateThatLastsIsNotTakenForADifference) {
  for (const double dwell : {30.0, 100.0}) {
    const auto states = [=](std::mt19937_64& random) {
      std::exponential_distribution<double> length(1 / dwell);
      std::vector<double> values(600);
      bool high = std::bernoulli_distribution(0.5)(random);
      double until = length(random);
      for (size_t i = 0; i < values.size(); ++i) {
        for (; static_cast<double>(i) >= until; until += length(random)) high = !high;
        values[i] = (high ? 0.05 : -0.05) + 0.01 * std::normal_distribution<double>()(random);
      }
      return values;
    };
    EXPECT_LE(ever_wrong(1, 7, states), 0.05 + chance(0.05, 400)) << dwell;
  }
}

TEST(Sequential, WhatWandersIsNotResolved) {
  std::mt19937_64 random(8);
  PairedSequence sequence(0.02);
  for (const double value : ar1_series(random, 600, 0.2, 0.05, 0.995)) sequence.add(std::exp(value), 1, round_s);
  ASSERT_TRUE(sequence.last_look());
  EXPECT_EQ(sequence.last_look()->resolution, Resolution::wandering);
  EXPECT_EQ(sequence.decision(), Difference::unknown);
  EXPECT_EQ(sequence.pairs_needed(), 0) << "nobody knows";
}

// Seconds of turns until it is decided; 1e9: not within 150 s.
double seconds_to_decide(double truth, double scatter, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, scatter);
  PairedSequence sequence(0.02);
  while (sequence.decision() == Difference::unknown && sequence.seconds() < 150) sequence.add(truth * std::exp(normal(random)), 1, round_s);
  return sequence.decision() == Difference::unknown ? 1e9 : sequence.seconds();
}

TEST(Sequential, TheLargerTheDifferenceTheSooner) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_LE(seconds_to_decide(2, 0.03, seed), 7) << seed;
    EXPECT_LE(seconds_to_decide(1.2, 0.03, seed), 25) << seed;
    EXPECT_LE(seconds_to_decide(1.05, 0.03, seed), 101) << seed;
    EXPECT_LE(seconds_to_decide(1.02, 0.03, seed), 110) << seed;
    EXPECT_GE(seconds_to_decide(1.05, 0.0001, seed), 40) << "a state of the machine could be that large for so long";
  }
}

TEST(Sequential, NothingIsStatedWithinSeconds) {
  PairedSequence sequence(0.02);
  for (int i = 0; i < 19; ++i) sequence.add(3, 1, round_s);
  EXPECT_EQ(sequence.last_look()->resolution, Resolution::too_short);
  EXPECT_EQ(sequence.decision(), Difference::unknown);
  EXPECT_EQ(sequence.pairs_needed(), 1);
  sequence.add(3, 1, round_s);
  EXPECT_EQ(sequence.last_look()->pairs, 20) << "looked at as soon as it is long enough";
  EXPECT_EQ(sequence.decision(), Difference::more);
}

TEST(Sequential, WhatAStateCouldDoShrinksWithTime) {
  double before = 1;
  for (double seconds = 1; seconds <= 110; seconds += 0.5) {
    EXPECT_LE(state_allowance(seconds), before);
    before = state_allowance(seconds);
  }
  EXPECT_LT(state_allowance(5), std::log(2));
  EXPECT_LT(state_allowance(20), std::log(1.2));
  EXPECT_LT(state_allowance(60), std::log(1.09));
  EXPECT_EQ(state_allowance(100), 0);
}

TEST(Sequential, DecidesAndSaysHowMuchMore) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  PairedSequence faster(0.02), same(0.02);
  EXPECT_EQ(faster.decision(), Difference::unknown);
  EXPECT_EQ(faster.pairs_needed(), 0);
  int64_t promised = 0;
  for (int i = 0; i < 3000; ++i) {
    if (i < 600) faster.add(1.07 * std::exp(0.05 * normal(random)), 1, round_s);
    same.add(std::exp(0.1 * normal(random)), 1, round_s);
    if (i == 410) promised = same.pairs() + same.pairs_needed();
    if (promised > 0 && same.pairs() == promised * 3 / 2) {
      EXPECT_NE(same.decision(), Difference::unknown);
      EXPECT_EQ(same.pairs_needed(), 0);
    }
  }
  EXPECT_GT(promised, 411);
  EXPECT_EQ(faster.decision(), Difference::more);
  EXPECT_NEAR(faster.ratio(), 1.07, 0.01);
  EXPECT_EQ(same.decision(), Difference::same);
}

TEST(Sequential, ARatioThatMovesIsNotDecided) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  PairedSequence moving(0.02);
  for (int i = 0; i < 500; ++i) moving.add((i < 250 ? 1.1 : 1.3) * std::exp(0.01 * normal(random)), 1, round_s);
  ASSERT_TRUE(moving.last_look());
  EXPECT_NE(moving.last_look()->shape, SeriesShape::steady);
  EXPECT_EQ(moving.decision(), Difference::unknown);
}

TEST(Sequential, WhatIsNoFigureIsLeftOut) {
  PairedSequence sequence(0.02);
  sequence.add(0, 1, round_s);
  sequence.add(1, -1, round_s);
  sequence.add(NAN, 1, round_s);
  EXPECT_EQ(sequence.pairs(), 0);
  EXPECT_EQ(sequence.ratio(), 1);
  for (int i = 0; i < 400; ++i) sequence.add(1, 1, round_s);
  EXPECT_EQ(sequence.decision(), Difference::same) << "a constant";
}

}  // namespace
}  // namespace deepgap
