#include "stats/e_divisive.h"

#include "stats/test_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

std::vector<double> with_steps(uint64_t seed, size_t n, double scatter, const std::vector<std::pair<size_t, double>>& steps) {
  std::mt19937_64 random(seed);
  std::vector<double> series = ar1_series(random, n, 100, scatter, 0);
  for (const auto& [at, size] : steps) {
    for (size_t i = at; i < n; ++i) series[i] += size;
  }
  return series;
}

TEST(EDivisive, FindsEveryStepWhereItIs) {
  const auto found = find_changes(with_steps(1, 60, 1, {{20, -5}, {45, 3}}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(static_cast<double>(found[0].at), 20, 1);
  EXPECT_NEAR(static_cast<double>(found[1].at), 45, 1);
  EXPECT_LE(found[0].p_value, 0.01);
}

TEST(EDivisive, IsSeldomWrongOfNoise) {
  uint64_t seed = 10;
  const double wrong = share_of(100, [&] { return !find_changes(with_steps(++seed, 30, 1, {})).empty(); });
  EXPECT_LE(wrong, 0.01 + chance(0.01, 100));
}

TEST(EDivisive, SeesADifferenceOfTwoDeviationsIn30) {
  uint64_t seed = 500;
  const double seen = share_of(50, [&] { return !find_changes(with_steps(++seed, 30, 1, {{15, 2}})).empty(); });
  EXPECT_GE(seen, 0.8);
}

TEST(EDivisive, OneSpikeIsNoChange) {
  std::vector<double> series = with_steps(3, 40, 1, {});
  series[20] = 300;
  EXPECT_TRUE(find_changes(series).empty());
}

TEST(EDivisive, OfConstantsAndOfTooFewNothingIsSaid) {
  EXPECT_TRUE(find_changes(std::vector<double>(50, 7)).empty());
  EXPECT_TRUE(find_changes(std::vector<double>{1, 1, 1, 1, 9, 9, 9, 9, 9}).empty());
  EXPECT_EQ(find_changes(std::vector<double>{1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9}).size(), 1U);
  EXPECT_TRUE(find_changes({}).empty());
}

TEST(EDivisive, TheSameSeedGivesTheSameAnswer) {
  const auto series = with_steps(4, 40, 1, {{18, 1.5}});
  const auto a = find_changes(series, 7), b = find_changes(series, 7);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].p_value, b[i].p_value);
}

}  // namespace
}  // namespace deepgap
