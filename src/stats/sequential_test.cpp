#include "stats/sequential.h"

#include "stats/test_series.h"

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

// Of duels of 400 pairs whose true ratio is `truth`: the share whose interval ever leaves it out.
double ever_wrong(double truth, double rho, uint64_t seed) {
  std::mt19937_64 random(seed);
  return share_of(300, [&] {
    const auto noise = ar1_series(random, 400, 0, 0.05, rho);
    PairedSequence sequence;
    for (const double value : noise) {
      sequence.add(truth * std::exp(value), 1);
      const auto interval = sequence.interval();
      if (interval && (interval->low > truth || interval->high < truth)) return true;
    }
    return false;
  });
}

TEST(Sequential, MayBeLookedAtAlways) {
  EXPECT_LE(ever_wrong(1, 0, 1), 0.06);
  EXPECT_LE(ever_wrong(1.07, 0, 2), 0.06);
  EXPECT_LE(ever_wrong(1, 0.5, 3), 0.12) << "turns that resemble each other";
}

TEST(Sequential, DecidesAndSaysHowMuchMore) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  PairedSequence faster, same;
  EXPECT_EQ(faster.decision(0.02), Difference::unknown);
  EXPECT_EQ(faster.pairs_needed(0.02), 0);
  int64_t promised = 0;
  for (int i = 0; i < 3000; ++i) {
    if (i < 400) faster.add(1.07 * std::exp(0.05 * normal(random)), 1);
    same.add(std::exp(0.05 * normal(random)), 1);
    if (i == 40) promised = same.pairs() + same.pairs_needed(0.02);
    if (promised > 0 && same.pairs() == promised * 3 / 2) {
      EXPECT_EQ(same.pairs_needed(0.02), 0);
    }
  }
  EXPECT_GT(promised, 41);
  EXPECT_EQ(faster.decision(0.02), Difference::more);
  EXPECT_NEAR(faster.ratio(), 1.07, 0.01);
  EXPECT_EQ(same.decision(0.02), Difference::same);
}

TEST(Sequential, WhatIsNoFigureIsLeftOut) {
  PairedSequence sequence;
  sequence.add(0, 1);
  sequence.add(1, -1);
  sequence.add(NAN, 1);
  EXPECT_EQ(sequence.pairs(), 0);
  EXPECT_EQ(sequence.ratio(), 1);
}

}  // namespace
}  // namespace deepgap
