#include "stats/non_inferiority.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace deepgap {
namespace {

using Repeats = std::vector<RepeatValue>;

TEST(NonInferiority, p_values_of_hand_computed_pairs) {
  const Repeats a{{1, std::exp(0.1), 0}, {2, std::exp(0.2), 0}, {3, std::exp(0.3), 0}}, b{{1, 1, 0}, {2, 1, 0}, {3, 1, 0}};
  const auto ratio = ratio_of_repeats(a, b);  // mean 0.2, error 0.1 / sqrt(3), 2 degrees of freedom
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(p_value_below(*ratio, ratio->ratio), 0.5, 1e-12);
  EXPECT_NEAR(p_value_below(*ratio, 1), 1 - 0.0371, 1e-4);          // t = 3.464
  EXPECT_NEAR(p_value_below(*ratio, std::exp(0.4)), 0.0371, 1e-4);  // as far to the other side
  EXPECT_EQ(p_value_below({1.5, 0, 0, false, 2}, 2), 1) << "of two repeats nothing is known";
  EXPECT_EQ(p_value_below({0.9, 0, 4, false, 5}, 0.98), 0) << "constants are so for certain";
  EXPECT_EQ(p_value_below({0.99, 0, 4, false, 5}, 0.98), 1);
}

TEST(NonInferiority, so_many_repeats_exclude_the_margin_in_four_of_five_cases) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  constexpr double scatter = 0.01, margin = 0.02;
  const auto measured = [&](size_t k, uint64_t run) {
    Repeats repeats;
    for (size_t i = 0; i < k; ++i) repeats.push_back({run * 1000 + i, std::exp(scatter * normal(random)), 0});
    return repeats;
  };
  // The scatter as it is: 20 repeats, an error of 0.01 * sqrt(2 / 20).
  const RepeatsRatio known{1, scatter * std::sqrt(2.0 / 20), 38, false, 20};
  const size_t k = repeats_to_tell(known, 1 / (1 + margin));
  ASSERT_GE(k, 3u);
  EXPECT_GT(repeats_to_tell({0.985, scatter * std::sqrt(2.0 / 20), 38, false, 20}, 1 / (1 + margin)), 5 * k)
      << "near the limit it takes more";
  EXPECT_EQ(repeats_to_tell({1, 0, 0, false, 2}, 0.98), 0u);
  int excluded = 0;
  constexpr int times = 1000;
  for (int i = 0; i < times; ++i) {
    const auto ratio = ratio_of_repeats(measured(k, 1), measured(k, 2));
    excluded += ratio->interval(0.9).low > 1 / (1 + margin) ? 1 : 0;
  }
  EXPECT_GE(excluded, times * 70 / 100) << k;
  EXPECT_LE(excluded, times * 95 / 100) << k;
}

}  // namespace
}  // namespace deepgap
