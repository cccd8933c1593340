#include "stats/correlated.h"

#include "stats/test_series.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace deepgap {
namespace {

double coverage(int rounds, double truth, const std::function<std::vector<double>()>& make) {
  const double covered = share_of(rounds, [&] {
    const Interval interval = estimate_correlated_mean(make())->interval();
    return interval.low <= truth && truth <= interval.high;
  });
  ::testing::Test::RecordProperty("coverage", std::to_string(covered));
  return covered;
}

TEST(Correlated, Lag1OfHandComputedSeries) {
  const std::vector<double> series{1, 2, 3, 4};  // deviations -1.5 -0.5 0.5 1.5: products 0.75 - 0.25 + 0.75 over 5
  EXPECT_DOUBLE_EQ(lag1_correlation(series), 0.25);
  EXPECT_EQ(lag1_correlation(std::vector<double>(10, 3.0)), 0);
  EXPECT_EQ(lag1_correlation(std::vector<double>(10, 0.1)), 0) << "the rounding of a constant's mean is no correlation";
  EXPECT_EQ(lag1_correlation(std::vector<double>{1, 2}), 0);
}

TEST(Correlated, FewObservationsAreStudent) {
  const std::vector<double> series{9, 11, 9, 11, 10, 10};  // lag-1 correlation negative: no factor
  const auto estimate = estimate_correlated_mean(series);
  ASSERT_TRUE(estimate);
  EXPECT_DOUBLE_EQ(estimate->mean, 10);
  EXPECT_DOUBLE_EQ(estimate->variance_of_mean, 0.8 / 6);
  EXPECT_EQ(estimate->degrees_of_freedom, 5);
  EXPECT_FALSE(estimate_correlated_mean(std::vector<double>{1}));
  EXPECT_FALSE(estimate_correlated_mean(std::vector<double>{}));
}

TEST(Correlated, EveryObservationIsInTheMean) {
  for (const size_t n : {63u, 64u, 65u, 127u, 128u, 1000u, 12345u}) {
    std::vector<double> series(n);
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += series[i] = static_cast<double>(i % 17);
    const auto estimate = estimate_correlated_mean(series);
    EXPECT_NEAR(estimate->mean, sum / static_cast<double>(n), 1e-9) << n;
    EXPECT_EQ(estimate->n, static_cast<int64_t>(n));
    EXPECT_LT(estimate->degrees_of_freedom, 64);
  }
}

TEST(Correlated, RatioWeighsByItems) {
  RatioSeries series;  // 10 ns an item, whatever the number of items: the ratio is exact
  for (int i = 0; i < 200; ++i) series.add(10.0 * (1 + i % 4), 1 + i % 4);
  const auto estimate = series.estimate();
  EXPECT_DOUBLE_EQ(estimate->mean, 10);
  EXPECT_NEAR(estimate->variance_of_mean, 0, 1e-20);
}

TEST(Correlated, CoversIndependentNormal) {
  std::mt19937_64 random(1);
  const double covered = coverage(2000, 10, [&] { return ar1_series(random, 500, 10, 1, 0); });
  EXPECT_GE(covered, 0.95 - chance(0.95, 2000));
  EXPECT_LE(covered, 0.99) << "wider than it need be";
}

TEST(Correlated, CoversIndependentLognormal) {
  std::mt19937_64 random(2);
  const double truth = std::exp(0.5);  // sigma 1: heavy on the right
  EXPECT_GE(coverage(2000, truth, [&] { return lognormal_series(random, 2000, 1, 1); }), 0.92 - chance(0.92, 2000));
}

TEST(Correlated, CoversStronglyCorrelatedSeries) {
  std::mt19937_64 random(3);
  const double covered = coverage(1000, 10, [&] { return ar1_series(random, 2000, 10, 1, 0.9); });
  EXPECT_GE(covered, 0.90);
  EXPECT_LE(covered, 0.99);
}

TEST(Correlated, CoversWithFewButEnough) {
  std::mt19937_64 random(4);
  EXPECT_GE(coverage(2000, 10, [&] { return ar1_series(random, 500, 10, 1, 0.9); }), 0.90 - chance(0.90, 2000));
}

// Measurement noise on top of a slow wander: the lag-1 correlation of single observations is small and says nothing.
TEST(Correlated, CoversNoiseOverASlowWander) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  const auto make = [&] {
    auto series = ar1_series(random, 20'000, 10, 0.5, 0.99);
    for (double& value : series) value += 2 * normal(random);
    return series;
  };
  EXPECT_GE(coverage(300, 10, make), 0.90 - chance(0.90, 300));
}

// Two queries in flight finish in pairs: gaps 0, 2, 0, 2, ... have a mean that is known far better than independence would say.
TEST(Correlated, AlternationIsNotNoise) {
  std::vector<double> gaps(1024);
  for (size_t i = 0; i < gaps.size(); ++i) gaps[i] = i % 2 == 0 ? 0 : 2;
  EXPECT_NEAR(estimate_correlated_mean(gaps)->interval().half_width(), 0, 1e-9);
}

TEST(Correlated, PlainIntervalWouldNotDo) {  // what the method is for
  std::mt19937_64 random(6);
  const double covered = share_of(500, [&] {
    const Interval interval = estimate_mean(ar1_series(random, 2000, 10, 1, 0.9))->interval();
    return interval.low <= 10 && 10 <= interval.high;
  });
  EXPECT_LT(covered, 0.6);
}

}  // namespace
}  // namespace deepgap
