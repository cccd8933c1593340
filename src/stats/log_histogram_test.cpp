#include "stats/log_histogram.h"

#include "stats/random_stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace deepgap {
namespace {

TEST(LogHistogram, SmallValuesAreExact) {
  LogHistogram histogram;
  for (int64_t value = 0; value < 1024; ++value) histogram.add(value);
  for (const double percent : {0.1, 25.0, 50.0, 99.0, 100.0})
    EXPECT_EQ(histogram.percentile(percent), static_cast<double>(nearest_rank(1024, percent) - 1)) << percent;
}

// Every magnitude up to the largest number there is, at both edges of its buckets.
TEST(LogHistogram, EveryValueComesBackWithinTheBound) {
  for (int shift = 0; shift < 63; ++shift) {
    for (int64_t offset : {-1, 0, 1, 2, 5}) {
      const auto value = static_cast<int64_t>((uint64_t{1} << shift) * 5 / 4) + offset;
      if (value <= 0) continue;
      LogHistogram histogram;
      histogram.add(value);
      // One value is both least and most, which would hide the bucket: two others around it.
      histogram.add(0);
      histogram.add(INT64_MAX);
      EXPECT_NEAR(histogram.percentile(50), static_cast<double>(value), static_cast<double>(value) * LogHistogram::relative_error) << value;
    }
  }
}

TEST(LogHistogram, PercentilesOfAWideDistributionAreWithinTheBoundOfTheExactOnes) {
  RandomStream random(7, "log_histogram");
  LogHistogram histogram;
  std::vector<double> values;
  for (int i = 0; i < 200'000; ++i) {
    const auto value = static_cast<int64_t>(1e4 * std::exp(2.5 * random.exponential()));
    histogram.add(value);
    values.push_back(static_cast<double>(value));
  }
  for (const double percent : {0.01, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const double exact = percentile(values, percent);
    EXPECT_NEAR(histogram.percentile(percent), exact, exact * LogHistogram::relative_error) << percent;
  }
  EXPECT_EQ(histogram.count(), 200'000);
  EXPECT_EQ(static_cast<double>(histogram.least()), percentile(values, 0));
  EXPECT_EQ(static_cast<double>(histogram.most()), percentile(values, 100));
}

TEST(LogHistogram, EmptyAndNegative) {
  LogHistogram histogram;
  EXPECT_EQ(histogram.percentile(99), 0);
  EXPECT_EQ(histogram.mean(), 0);
  histogram.add(-5);
  EXPECT_EQ(histogram.percentile(50), 0);
  EXPECT_EQ(histogram.count(), 1);
}

TEST(RandomStream, IsAFunctionOfSeedAndName) {
  RandomStream a(1, "x"), same(1, "x"), other_seed(2, "x"), other_name(1, "y");
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = a.uniform();
    EXPECT_EQ(value, same.uniform());
    EXPECT_NE(value, other_seed.uniform());
    EXPECT_NE(value, other_name.uniform());
    EXPECT_GT(value, 0);
    EXPECT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 4.5 * std::sqrt(1.0 / 12 / 10'000));  // 4.5 standard deviations
}

}  // namespace
}  // namespace deepgap
