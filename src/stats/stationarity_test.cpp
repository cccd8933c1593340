#include "stats/stationarity.h"

#include "stats/test_series.h"

#include <gtest/gtest.h>

#include <vector>

namespace deepgap {
namespace {

std::vector<double> noise(uint64_t seed, size_t n, double deviation, double rho = 0) {
  std::mt19937_64 random(seed);
  return ar1_series(random, n, 100, deviation, rho);
}

TEST(Stationarity, PettittOfAHandComputedSeries) {
  // U_4 = 4 * 4 = 16 of at most 16: behind the fourth.
  const StepFound step = pettitt_step(std::vector<double>{1, 2, 3, 4, 11, 12, 13, 14});
  EXPECT_EQ(step.at, 4u);
  EXPECT_LT(pettitt_step(noise(1, 10, 1)).p_value, 1.01);
  EXPECT_EQ(pettitt_step(std::vector<double>(20, 5.0)).p_value, 1);
}

TEST(Stationarity, CorrelationWidensKendallsVariance) {
  const double plain = share_of(500, [seed = uint64_t{0}]() mutable { return std::abs(hamed_rao_z(noise(++seed, 64, 1))) > 1.96; });
  const double correlated =
      share_of(500, [seed = uint64_t{0}]() mutable { return std::abs(hamed_rao_z(noise(++seed, 64, 1, 0.7))) > 1.96; });
  EXPECT_LE(plain, 0.05 + chance(0.05, 500));
  EXPECT_LE(correlated, 0.15) << "without the correction it is above 0.3";
}

TEST(Stationarity, ShapesAreNamed) {
  auto series = noise(3, 60, 0.2);
  EXPECT_EQ(find_shape(series, 0.01).shape, SeriesShape::steady);
  auto step = series;
  for (size_t i = 40; i < step.size(); ++i) step[i] += 10;
  const ShapeFound stepped = find_shape(step, 0.01);
  EXPECT_EQ(stepped.shape, SeriesShape::step);
  EXPECT_EQ(stepped.at, 40u);
  EXPECT_NEAR(stepped.change, 0.1, 0.005);
  auto trend = series;
  for (size_t i = 0; i < trend.size(); ++i) trend[i] += 0.1 * static_cast<double>(i);
  EXPECT_EQ(find_shape(trend, 0.01).shape, SeriesShape::trend);
  EXPECT_NEAR(find_shape(trend, 0.01).change, 0.057, 0.006);
  auto modes = series;
  for (size_t i = 0; i < modes.size(); ++i) modes[i] += (i / 7) % 2 == 0 ? 0 : 10;
  EXPECT_EQ(find_shape(modes, 0.01).shape, SeriesShape::modes);
  auto warming = series;
  for (size_t i = 0; i < 6; ++i) warming[i] += 20 - 3 * static_cast<double>(i);
  EXPECT_EQ(find_shape(warming, 0.01).shape, SeriesShape::warming);
}

TEST(Stationarity, WhatIsSmallerThanAskedIsNone) {
  auto series = noise(4, 60, 0.01);
  for (size_t i = 30; i < series.size(); ++i) series[i] += 0.5;
  EXPECT_EQ(find_shape(series, 0.01).shape, SeriesShape::steady);
  EXPECT_EQ(find_shape(series, 0.001).shape, SeriesShape::step);
}

TEST(Stationarity, ShortConstantAndNegativeSeriesAreSteady) {
  EXPECT_EQ(find_shape(std::vector<double>{1, 2, 3}, 0.01).shape, SeriesShape::steady);
  EXPECT_EQ(find_shape(std::vector<double>(50, 3.0), 0.01).shape, SeriesShape::steady);
  EXPECT_EQ(find_shape(std::vector<double>(50, -3.0), 0.01).shape, SeriesShape::steady);
}

}  // namespace
}  // namespace deepgap
