#include "stats/steady_state.h"

#include "stats/test_series.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace deepgap {
namespace {

TEST(SteadyState, MannKendallOfHandComputedSeries) {
  const std::vector<double> rising{1, 2, 3, 4, 5};  // S = 10, variance 5*4*15/18
  EXPECT_NEAR(mann_kendall_z(rising), 9 / std::sqrt(300.0 / 18), 1e-12);
  const std::vector<double> ties{1, 1, 2, 2};  // S = 4, variance (4*3*13 - 2 * 2*1*9)/18
  EXPECT_NEAR(mann_kendall_z(ties), 3 / std::sqrt(120.0 / 18), 1e-12);
  EXPECT_EQ(mann_kendall_z(std::vector<double>(20, 5.0)), 0);
}

TEST(SteadyState, SenSlopeForgivesASpike) {
  std::vector<double> series(21);
  for (size_t i = 0; i < series.size(); ++i) series[i] = 0.5 * static_cast<double>(i);
  series[10] = 1000;
  EXPECT_DOUBLE_EQ(sen_slope(series), 0.5);
}

TEST(SteadyState, MserCutsTheSlowStart) {
  std::vector<double> series(30, 1.0);
  series[0] = 9;
  series[1] = 5;
  series[2] = 2;
  for (size_t i = 3; i < series.size(); ++i) series[i] += i % 2 == 0 ? 0.01 : -0.01;
  EXPECT_EQ(mser_truncation(series), 3u);
  EXPECT_EQ(steady_from(series, 0.005), 3u);
}

TEST(SteadyState, TooShortOrStillFallingIsNotSteady) {
  EXPECT_FALSE(steady_from(std::vector<double>(7, 1.0), 0.005));
  EXPECT_EQ(steady_from(std::vector<double>(8, 1.0), 0.005), 0u);
  std::vector<double> falling(100);
  for (size_t i = 0; i < falling.size(); ++i) falling[i] = 200 - static_cast<double>(i);
  EXPECT_FALSE(steady_from(falling, 0.005));
}

TEST(SteadyState, AStepInTheSecondHalfIsNotSteady) {
  std::vector<double> series(100, 1.0);
  for (size_t i = 70; i < series.size(); ++i) series[i] = 1.2;
  EXPECT_FALSE(steady_from(series, 0.005));
}

TEST(SteadyState, TrendTooSmallToMatterPasses) {
  std::vector<double> series(64);
  for (size_t i = 0; i < series.size(); ++i) series[i] = 1000 + 0.01 * static_cast<double>(i);
  EXPECT_TRUE(steady_from(series, 0.005));
  EXPECT_FALSE(steady_from(series, 0.00001));
}

// Without noise MSER cuts ever more of a decay; where that changes nothing that matters, the decay is over.
TEST(SteadyState, NoiselessDecayIsOverOnceItIsFlat) {
  std::vector<double> series(1000);
  for (size_t i = 0; i < series.size(); ++i) series[i] = 1 + std::exp(-static_cast<double>(i) / 100);
  EXPECT_FALSE(steady_from(std::span(series).first(300), 0.005));
  EXPECT_TRUE(steady_from(series, 0.005));
}

// Flat noise is called steady most of the time: a false "not yet" only makes the warm-up a little longer.
TEST(SteadyState, FlatNoiseIsSteady) {
  std::mt19937_64 random(7);
  const double steady = share_of(500, [&] { return steady_from(ar1_series(random, 200, 100, 5, 0), 0.005).has_value(); });
  EXPECT_GE(steady, 0.70);
}

// What is kept of a decaying start is nearly free of it: its mean is within 1 % although the first value is twice the last.
TEST(SteadyState, WhatIsKeptIsNearTheEnd) {
  std::mt19937_64 random(8);
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    auto series = ar1_series(random, 400, 100, 1, 0.3);
    for (size_t i = 0; i < series.size(); ++i) series[i] += 100 * std::exp(-static_cast<double>(i) / 20);
    const auto start = steady_from(series, 0.005);
    if (!start) continue;
    double sum = 0;
    for (size_t i = *start; i < series.size(); ++i) sum += series[i];
    worst = std::max(worst, std::abs(sum / static_cast<double>(series.size() - *start) - 100));
  }
  EXPECT_LT(worst, 1);
}

}  // namespace
}  // namespace deepgap
