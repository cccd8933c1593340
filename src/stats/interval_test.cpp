#include "stats/interval.h"

#include "stats/moments.h"
#include "stats/test_series.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(Moments, MatchHandComputedValues) {
  Moments moments;
  for (const double x : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) moments.add(x);
  EXPECT_DOUBLE_EQ(moments.mean(), 5);
  EXPECT_DOUBLE_EQ(moments.variance(), 32.0 / 7);
  EXPECT_EQ(Moments{}.variance(), 0);
}

TEST(Moments, SurviveALargeOffset) {
  Moments moments;  // sum of squares minus square of the sum would lose every digit here
  for (const double x : {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}) moments.add(x);
  EXPECT_DOUBLE_EQ(moments.variance(), 30);
}

TEST(Moments, MergeEqualsOnePass) {
  Moments all, left, right;
  for (int i = 0; i < 100; ++i) {
    const double x = i * i % 37;
    all.add(x);
    (i < 30 ? left : right).add(x);
  }
  left.merge(right);
  left.merge(Moments{});
  EXPECT_EQ(left.count(), 100);
  EXPECT_NEAR(left.mean(), all.mean(), 1e-12);
  EXPECT_NEAR(left.variance(), all.variance(), 1e-10);
}

TEST(Student, MatchesTheTables) {
  EXPECT_NEAR(student_factor(1), 12.706, 1e-3);
  EXPECT_NEAR(student_factor(9), 2.262, 1e-3);
  EXPECT_NEAR(student_factor(9, 0.99), 3.250, 1e-3);
  EXPECT_NEAR(student_factor(1e6), 1.960, 1e-3);
}

TEST(Student, IntervalOfAMean) {
  const std::vector<double> values{9, 10, 11};
  const auto estimate = estimate_mean(values);
  ASSERT_TRUE(estimate);
  const Interval interval = estimate->interval();
  EXPECT_NEAR(interval.low, 10 - 4.3027 / std::sqrt(3), 1e-3);
  EXPECT_NEAR(interval.half_width(), 4.3027 / std::sqrt(3), 1e-3);
  EXPECT_FALSE(estimate_mean(std::span(values).first(1)));
}

TEST(Student, ConstantHasNoWidth) {
  const std::vector<double> values{3, 3, 3, 3};
  EXPECT_EQ(estimate_mean(values)->interval().half_width(), 0);
}

}  // namespace
}  // namespace deepgap
