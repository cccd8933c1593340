#include "quantize/range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace deepgap {
namespace {

std::vector<float> normal_values(size_t count, float scale, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(RangeCollector, ExtremesHoldZeroAndDoNotDependOnTheOrder) {
  RangeCollector some, all;
  EXPECT_TRUE(some.add(std::vector<float>{2, 3}));
  EXPECT_EQ(some.extremes(), (Range{0, 3}));
  EXPECT_TRUE(some.add(std::vector<float>{-0.5F, 100}));
  EXPECT_TRUE(all.add(std::vector<float>{100, -0.5F, 3, 2}));
  EXPECT_EQ(some.extremes(), all.extremes());
  EXPECT_EQ(some.range("minmax", 0), (Range{-0.5F, 100}));
}

TEST(RangeCollector, SeesNaNAndInfinity) {
  RangeCollector collector;
  EXPECT_FALSE(collector.add(std::vector<float>{1, NAN}));
  EXPECT_FALSE(collector.add(std::vector<float>{-INFINITY}));
  EXPECT_TRUE(collector.empty());
}

TEST(RangeCollector, PercentileCutsOutliersOff) {
  RangeCollector collector;
  std::vector<float> values(10'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 10'000;
  collector.add(values);
  collector.add(std::vector<float>{1000});  // grows the histogram's width a thousandfold
  EXPECT_NEAR(collector.range("percentile", 99.99).high, 1, 0.3);
  EXPECT_EQ(collector.range("percentile", 100).high, 1000);
}

TEST(RangeCollector, PercentileIsThatOfTheNormalDistribution) {
  RangeCollector collector;
  for (uint32_t part = 0; part < 10; ++part) collector.add(normal_values(100'000, 0.1F * static_cast<float>(part + 1), part));
  RangeCollector one;
  one.add(normal_values(1'000'000, 2));
  EXPECT_NEAR(one.range("percentile", 99).high, 2 * 2.576, 0.03);
  EXPECT_NEAR(one.range("percentile", 99).low, -2 * 2.576, 0.03);
  EXPECT_LT(collector.range("percentile", 99).high, collector.extremes().high);
}

TEST(RangeCollector, TinyAndHugeValuesKeepTheirRange) {
  RangeCollector tiny, huge;
  tiny.add(std::vector<float>{1e-38F, 3e-38F});
  huge.add(std::vector<float>{1, 3e38F});
  EXPECT_EQ(tiny.range("percentile", 99), (Range{0, 3e-38F}));
  EXPECT_EQ(huge.range("percentile", 100).high, 3e38F);
}

TEST(RangeCollector, ZerosAloneGiveNoRange) {
  for (const char* method : {"minmax", "percentile", "entropy"}) {
    RangeCollector collector;
    collector.add(std::vector<float>(100, 0.0F));
    EXPECT_EQ(collector.range(method, 99.9), (Range{0, 0}));
  }
}

TEST(EntropyCut, KeepsEverythingWhereAllBinsAreAlike) {
  const std::vector<double> even(1024, 10.0);
  EXPECT_EQ(entropy_cut(even, 128), 1024U);
}

TEST(EntropyCut, CutsAFarOutlierOff) {
  std::vector<double> bins(4096, 0.0);
  for (size_t i = 0; i < 300; ++i) bins[i] = 1e6 * std::exp(-static_cast<double>(i) / 40);
  bins[4095] = 1;
  const size_t cut = entropy_cut(bins, 128);
  EXPECT_GE(cut, 128U);
  EXPECT_LT(cut, 1000U);
}

TEST(RangeCollector, EntropyClipsHeavyTailsMoreThanLightOnes) {
  std::mt19937 random(3);
  std::student_t_distribution<float> heavy(3);
  std::vector<float> values(200'000);
  for (float& value : values) value = heavy(random);
  RangeCollector tailed, normal;
  tailed.add(values);
  normal.add(normal_values(200'000, 1));
  EXPECT_LT(tailed.range("entropy", 0).high, 0.5F * tailed.extremes().high);
  EXPECT_GT(normal.range("entropy", 0).high, 0.5F * normal.extremes().high);
}

}  // namespace
}  // namespace deepgap
