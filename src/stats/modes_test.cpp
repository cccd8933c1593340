#include "stats/modes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace deepgap {
namespace {

// The values are those of the package diptest 0.12.0 for Python, an independent implementation of the same statistic.
TEST(Dip, IsThatOfAnotherImplementation) {
  EXPECT_DOUBLE_EQ(dip_of(std::vector<double>{1, 1, 2, 2, 5, 7, 7}), 1.0 / 7);
  std::vector<double> squares, waves;
  for (int i = 0; i < 100; ++i) squares.push_back(i * i);
  for (int i = 0; i < 200; ++i) waves.push_back(std::sin(i) + (i % 3 == 0 ? 3 : 0));
  std::sort(waves.begin(), waves.end());
  EXPECT_NEAR(dip_of(squares), 0.005, 1e-12);
  EXPECT_NEAR(dip_of(waves), 0.0558971112425702, 1e-9);
  EXPECT_EQ(dip_of(std::vector<double>(10, 3.0)), 0);
  EXPECT_EQ(dip_of({}), 0);
}

std::vector<double> logarithmic(size_t n, double sigma, double correlation, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double state = normal(random);
  for (size_t i = 0; i < n; ++i) {
    values.push_back(std::exp(sigma * state));
    state = correlation * state + std::sqrt(1 - correlation * correlation) * normal(random);
  }
  return values;
}

// 0.1 % is what the limit allows; the sources are further from uniform than that.
TEST(Modes, OneGroupIsHardlyEverTwo) {
  int wrong = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    for (const double correlation : {0.0, 0.9, -0.5}) wrong += find_modes(logarithmic(1000, 0.3, correlation, seed)) ? 1 : 0;
  EXPECT_LE(wrong, 2);
}

TEST(Modes, TwoGroupsAreFoundWithTheirOrder) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::vector<double> alternating = logarithmic(400, 0.03, 0.5, seed), stretches = alternating, mixed = alternating;
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < alternating.size(); ++i) {
      if (i % 2 == 1) alternating[i] *= 1.5;
      if (i / 10 % 2 == 1) stretches[i] *= 1.5;
      if (random() % 3 == 0) mixed[i] *= 1.5;
    }
    ASSERT_TRUE(find_modes(alternating) && find_modes(stretches) && find_modes(mixed)) << seed;
    EXPECT_EQ(find_modes(alternating)->order, ModeOrder::alternating);
    EXPECT_EQ(find_modes(stretches)->order, ModeOrder::stretches);
    EXPECT_EQ(find_modes(mixed)->order, ModeOrder::mixed);
    EXPECT_NEAR(find_modes(mixed)->high / find_modes(mixed)->low, 1.5, 0.05);
    EXPECT_NEAR(find_modes(alternating)->share_low, 0.5, 0.01);
  }
}

// Values take 20 to 100 ticks, such as 10 us by a timer of 0.5 us: every tick would be a group of its own.
TEST(Modes, TicksOfACoarseTimerAreNoGroups) {
  int wrong = 0, found = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    for (const double tick : {0.01, 0.05, 0.1, 0.5}) {
      std::vector<double> one = logarithmic(1000, 0.1, 0.5, seed), two = one;
      for (size_t i = 0; i < one.size(); ++i) {
        one[i] = std::max(tick, std::floor(one[i] / tick) * tick);
        two[i] = std::floor(two[i] * (i % 2 == 0 ? 1 : 3) / tick) * tick;
        two[i] = std::max(tick, two[i]);
      }
      wrong += find_modes(one, tick) ? 1 : 0;
      found += find_modes(two, tick) ? 1 : 0;
    }
  }
  EXPECT_LE(wrong, 2);
  EXPECT_EQ(found, 400);
}

TEST(Modes, TheStepOfATimerIsWhatAllItsReadingsAreApartBy) {
  EXPECT_EQ(step_of(std::vector<int64_t>{1'000'003, 1'500'003, 3'000'003}), 500'000);
  EXPECT_EQ(step_of(std::vector<int64_t>{17, 1'000'003, 2'000'007}), 2);
  EXPECT_EQ(step_of(std::vector<int64_t>{5, 5}), 0);
  EXPECT_EQ(step_of({}), 0);
}

TEST(Modes, SmallDifferencesAndRareValuesAreNone) {
  std::vector<double> near, rare;
  for (int i = 0; i < 1000; ++i) {
    const double jitter = 0.0001 * (i * 7 % 13);
    near.push_back((i % 2 == 0 ? 1 : 1.03) + jitter);
    rare.push_back((i % 50 == 0 ? 2 : 1) + jitter);
  }
  EXPECT_FALSE(find_modes(near));
  EXPECT_FALSE(find_modes(rare));
  EXPECT_FALSE(find_modes(std::vector<double>(1000, 1)));
  EXPECT_FALSE(find_modes(std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace deepgap
