#include "stats/compare.h"

#include "stats/correlated.h"
#include "stats/test_series.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(Repeats, OneRepeatHasItsOwnInterval) {
  const std::vector<MeanEstimate> one{{10, 0.04, 31, 500}};
  const auto estimate = estimate_over_repeats(one);
  ASSERT_TRUE(estimate);
  EXPECT_FALSE(estimate->over_repeats);
  EXPECT_DOUBLE_EQ(estimate->estimate.interval().low, one[0].interval().low);
  EXPECT_FALSE(estimate_over_repeats({}));
}

TEST(Repeats, ScatterBetweenRepeatsDecides) {
  const std::vector<MeanEstimate> repeats{{9, 0.01, 31, 100}, {10, 0.01, 31, 100}, {11, 0.01, 31, 100}};
  const auto estimate = estimate_over_repeats(repeats);
  EXPECT_TRUE(estimate->over_repeats);
  EXPECT_DOUBLE_EQ(estimate->estimate.mean, 10);
  EXPECT_DOUBLE_EQ(estimate->estimate.variance_of_mean, 1.0 / 3);
  EXPECT_DOUBLE_EQ(estimate->between_variance, 0.99);
  EXPECT_EQ(estimate->estimate.degrees_of_freedom, 2);
  EXPECT_EQ(estimate->estimate.n, 300);
}

TEST(Repeats, AgreementByChanceIsNotCertainty) {
  const std::vector<MeanEstimate> repeats{{10, 0.04, 31, 100}, {10, 0.04, 31, 100}};
  const auto estimate = estimate_over_repeats(repeats);
  EXPECT_DOUBLE_EQ(estimate->estimate.variance_of_mean, 0.02);
  EXPECT_EQ(estimate->between_variance, 0);
}

TEST(Ratio, ExactWithoutScatter) {
  const auto estimate = estimate_ratio({20, 0, 9, 10}, {10, 0, 9, 10});
  ASSERT_TRUE(estimate);
  EXPECT_DOUBLE_EQ(estimate->ratio, 2);
  EXPECT_DOUBLE_EQ(estimate->interval.half_width(), 0);
  EXPECT_FALSE(estimate_ratio({1, 0, 1, 2}, {0, 0, 1, 2}));
}

TEST(Ratio, InverseRatioHasInverseInterval) {
  const MeanEstimate a{20, 0.25, 9, 10}, b{10, 0.04, 4, 5};
  const auto forward = estimate_ratio(a, b), backward = estimate_ratio(b, a);
  EXPECT_NEAR(forward->interval.low * backward->interval.high, 1, 1e-12);
  EXPECT_NEAR(forward->interval.high * backward->interval.low, 1, 1e-12);
}

// Equal relative variances v with f degrees of freedom each: Welch gives 2 f, half-width on the log t(2f) sqrt(2v).
TEST(Ratio, WelchDegreesOfFreedom) {
  const auto estimate = estimate_ratio({10, 0.01, 4, 5}, {10, 0.01, 4, 5});
  EXPECT_NEAR(std::log(estimate->interval.high), 2.306 * std::sqrt(2e-4), 1e-5);
}

TEST(Ratio, CoversTheTruthOverRepeats) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  constexpr int rounds = 2000;
  const auto measure = [&](double truth) {  // five processes, each shifted by 3 % and measured within 1 %
    std::vector<MeanEstimate> repeats;
    for (int i = 0; i < 5; ++i) {
      const double shifted = truth * (1 + 0.03 * normal(random));
      repeats.push_back({shifted * (1 + 0.01 * normal(random)), 1e-4 * truth * truth, 31, 1000});
    }
    return estimate_over_repeats(repeats)->estimate;
  };
  const double covered = share_of(rounds, [&] {
    const auto estimate = estimate_ratio(measure(130), measure(100));
    return estimate->interval.low <= 1.3 && 1.3 <= estimate->interval.high;
  });
  EXPECT_GE(covered, 0.95 - chance(0.95, rounds));
  EXPECT_LE(covered, 0.99);
}

}  // namespace
}  // namespace deepgap
