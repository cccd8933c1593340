#include "stats/percentile.h"

#include "stats/test_series.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(Percentile, NearestRankIsAnObservation) {
  const std::vector<double> values{15, 20, 35, 40, 50};
  EXPECT_EQ(percentile(values, 5), 15);
  EXPECT_EQ(percentile(values, 30), 20);
  EXPECT_EQ(percentile(values, 40), 20);
  EXPECT_EQ(percentile(values, 50), 35);
  EXPECT_EQ(percentile(values, 100), 50);
  EXPECT_EQ(percentile(values, 0), 15);
}

TEST(Percentile, RanksAreExactWhereRoundingWouldPushThem) {
  EXPECT_EQ(nearest_rank(1000, 99.9), 999u);
  EXPECT_EQ(nearest_rank(100, 99), 99u);
  EXPECT_EQ(nearest_rank(101, 99), 100u);
  EXPECT_EQ(nearest_rank(10'000'000, 99.9), 9'990'000u);
  EXPECT_EQ(nearest_rank(1, 50), 1u);
  for (int percent = 1; percent <= 100; ++percent) EXPECT_EQ(nearest_rank(100, percent), static_cast<size_t>(percent));
}

TEST(Percentile, NamesParse) {
  EXPECT_EQ(parse_percentile("p99"), 99);
  EXPECT_EQ(parse_percentile("p99.9"), 99.9);
  for (const char* wrong : {"p", "99", "p0", "p100", "p-1", "pnan", "p9x", "p1e1"}) EXPECT_FALSE(parse_percentile(wrong)) << wrong;
}

// For n = 10 and the median the textbook interval is [x(2), x(9)]: B(10, 1/2) has 0.0107 up to 1 and 0.0547 up to 2.
TEST(PercentileInterval, MedianOfTenIsTheTextbooks) {
  const auto ranks = percentile_ranks(10, 50);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->low, 2u);
  EXPECT_EQ(ranks->high, 9u);
}

TEST(PercentileInterval, AbsentWithTooFewObservations) {
  EXPECT_FALSE(percentile_ranks(5, 50));    // 2 * 0.5^5 > 5 %
  EXPECT_TRUE(percentile_ranks(6, 50));     // 2 * 0.5^6 = 3.1 %
  EXPECT_FALSE(percentile_ranks(367, 99));  // 0.99^367 > 2.5 %
  EXPECT_TRUE(percentile_ranks(368, 99));
  EXPECT_FALSE(percentile_ranks(0, 50));
}

// Distribution-free, so at least nominal for independent data of any shape.
TEST(PercentileInterval, CoversTheTruthOfIndependentData) {
  std::mt19937_64 random(11);
  constexpr int rounds = 1500;
  const double true_p90 = std::exp(0.5 * 1.2815515655446004);
  const double covered = share_of(rounds, [&] {
    const auto interval = estimate_percentile(lognormal_series(random, 400, 1, 0.5), 90).interval;
    return interval && interval->low <= true_p90 && true_p90 <= interval->high;
  });
  EXPECT_GE(covered, 0.95 - chance(0.95, rounds));
}

// An end that needs more observations is infinite; the other one holds.
TEST(PercentileInterval, HasOneEndWhereTwoCannotBeTold) {
  std::vector<double> series(200);
  for (size_t i = 0; i < series.size(); ++i) series[i] = static_cast<double>((i * 77) % 200);
  const auto p99 = estimate_percentile(series, 99);
  ASSERT_TRUE(p99.interval);
  EXPECT_FALSE(p99.has_both_ends());
  EXPECT_GT(p99.interval->low, 190);
  EXPECT_TRUE(std::isinf(p99.interval->high));
  EXPECT_TRUE(std::isinf(estimate_percentile(series, 1).interval->low));
  EXPECT_TRUE(estimate_percentile(series, 50).has_both_ends());
}

// Whether a series has both ends must not depend on looking uncorrelated by chance.
TEST(PercentileInterval, ThoseWithBothEndsCoverToo) {
  std::mt19937_64 random(13);
  const double truth = 10 + 2.3263478740408408;
  int both = 0, covered = 0;
  for (int round = 0; round < 600; ++round) {
    const auto estimate = estimate_percentile(ar1_series(random, 2000, 10, 1, 0.9), 99);
    if (!estimate.has_both_ends()) continue;
    ++both;
    covered += estimate.interval->low <= truth && truth <= estimate.interval->high ? 1 : 0;
  }
  EXPECT_GE(covered, (0.90 - chance(0.90, std::max(both, 1))) * both) << both;
}

// A series that only grows is worth about one independent observation.
TEST(PercentileInterval, HoldsWhatWasFound) {
  std::vector<double> growing(3000);
  std::iota(growing.begin(), growing.end(), 1);
  for (const double percent : {1.0, 10.0, 50.0, 90.0, 99.0, 99.9}) {
    const auto estimate = estimate_percentile(growing, percent);
    if (!estimate.interval) continue;
    EXPECT_LE(estimate.interval->low, estimate.value) << percent;
    EXPECT_GE(estimate.interval->high, estimate.value) << percent;
  }
}

TEST(PercentileInterval, AllowsForCorrelation) {
  std::mt19937_64 random(12);
  constexpr int rounds = 600;
  const double true_p90 = 10 + 1.2815515655446004;
  double effective = 0;
  const double covered = share_of(rounds, [&] {
    const auto estimate = estimate_percentile(ar1_series(random, 4000, 10, 1, 0.9), 90);
    effective += estimate.effective_n / rounds;
    return estimate.interval && estimate.interval->low <= true_p90 && true_p90 <= estimate.interval->high;
  });
  EXPECT_GE(covered, 0.90 - chance(0.90, rounds));
  EXPECT_LT(effective, 1000) << "4000 observations with correlation 0.9 are worth far fewer";
}

}  // namespace
}  // namespace deepgap
