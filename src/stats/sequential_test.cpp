#include "stats/sequential.h"

#include "stats/test_series.h"

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

// Of duels of 600 pairs whose true ratio is `truth`: the share whose interval ever leaves it out.
double ever_wrong(double truth, double rho, uint64_t seed) {
  std::mt19937_64 random(seed);
  return share_of(400, [&] {
    const auto noise = ar1_series(random, 600, 0, 0.05, rho);
    PairedSequence sequence(0.02);
    for (const double value : noise) {
      sequence.add(truth * std::exp(value), 1);
      const auto& look = sequence.last_look();
      if (look && (look->interval.low > truth || look->interval.high < truth)) return true;
    }
    return false;
  });
}

TEST(Sequential, MayBeLookedAtAlways) {
  EXPECT_LE(ever_wrong(1, 0, 1), 0.05);
  EXPECT_LE(ever_wrong(1.07, 0, 2), 0.05);
  EXPECT_LE(ever_wrong(1, 0.5, 3), 0.05) << "turns that resemble each other";
  EXPECT_LE(ever_wrong(1, 0.9, 4), 0.05 + chance(0.05, 400)) << "as they do for ten turns and more";
}

TEST(Sequential, DecidesAndSaysHowMuchMore) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  PairedSequence faster(0.02), same(0.02);
  EXPECT_EQ(faster.decision(), Difference::unknown);
  EXPECT_EQ(faster.pairs_needed(), 0);
  int64_t promised = 0;
  for (int i = 0; i < 3000; ++i) {
    if (i < 400) faster.add(1.07 * std::exp(0.05 * normal(random)), 1);
    same.add(std::exp(0.05 * normal(random)), 1);
    if (i == 70) promised = same.pairs() + same.pairs_needed();
    if (promised > 0 && same.pairs() == promised * 3 / 2) {
      EXPECT_TRUE(same.settled());
      EXPECT_EQ(same.pairs_needed(), 0);
    }
  }
  EXPECT_GT(promised, 71);
  EXPECT_EQ(faster.decision(), Difference::more);
  EXPECT_TRUE(faster.settled());
  EXPECT_NEAR(faster.ratio(), 1.07, 0.01);
  EXPECT_EQ(same.decision(), Difference::same);
}

TEST(Sequential, ADifferenceIsSettledOnceItIsKnownToTheMargin) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  PairedSequence twice(0.01);
  while (twice.decision() == Difference::unknown) twice.add(2 * std::exp(0.1 * normal(random)), 1);
  EXPECT_EQ(twice.decision(), Difference::more);
  EXPECT_FALSE(twice.settled());
  EXPECT_GT(twice.pairs_needed(), 100);
}

TEST(Sequential, ARatioThatMovesIsNotDecided) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  PairedSequence moving(0.02);
  for (int i = 0; i < 300; ++i) moving.add((i < 150 ? 1.1 : 1.3) * std::exp(0.01 * normal(random)), 1);
  ASSERT_TRUE(moving.last_look());
  EXPECT_NE(moving.last_look()->shape, SeriesShape::steady);
  EXPECT_EQ(moving.decision(), Difference::unknown);
}

TEST(Sequential, WhatIsNoFigureIsLeftOut) {
  PairedSequence sequence(0.02);
  sequence.add(0, 1);
  sequence.add(1, -1);
  sequence.add(NAN, 1);
  EXPECT_EQ(sequence.pairs(), 0);
  EXPECT_EQ(sequence.ratio(), 1);
  for (int i = 0; i < 100; ++i) sequence.add(1, 1);
  EXPECT_EQ(sequence.decision(), Difference::same) << "a constant";
}

}  // namespace
}  // namespace deepgap
