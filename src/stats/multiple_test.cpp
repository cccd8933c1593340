#include "stats/multiple.h"

#include "stats/repeats_ratio.h"
#include "stats/test_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(Multiple, HandComputed) {
  const std::vector<double> p{0.01, 0.04, 0.03, NAN};
  EXPECT_THAT(holm_adjusted(p), ElementsAre(DoubleNear(0.04, 1e-12), DoubleNear(0.09, 1e-12), DoubleNear(0.09, 1e-12), 1));
  EXPECT_THAT(benjamini_hochberg_adjusted(p),
              ElementsAre(DoubleNear(0.04, 1e-12), DoubleNear(0.16 / 3, 1e-12), DoubleNear(0.16 / 3, 1e-12), 1));
  EXPECT_TRUE(holm_adjusted({}).empty());
  EXPECT_DOUBLE_EQ(confidence_of_best(2), 0.95);
  EXPECT_DOUBLE_EQ(confidence_of_best(4), 1 - 0.05 / 6);
}

// Counts how often the best of four equal ones differs significantly from any of them: a false winner.
double false_winners(double confidence, size_t repeats, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  return share_of(4000, [&] {
    std::vector<std::pair<double, std::vector<RepeatValue>>> engines(4);
    for (auto& [sum, values] : engines) {
      for (size_t i = 0; i < repeats; ++i) {
        values.push_back({i, std::exp(0.01 * normal(random)), 0});
        sum += std::log(values.back().value);
      }
    }
    std::sort(engines.begin(), engines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    return std::any_of(engines.begin() + 1, engines.end(), [&](const auto& rival) {
      return difference(*ratio_of_repeats(engines[0].second, rival.second), 0, confidence) == Difference::more;
    });
  });
}

TEST(Multiple, AFalseWinnerIsRare) {
  EXPECT_LE(false_winners(confidence_of_best(4), 3, 1), 0.05);
  EXPECT_LE(false_winners(confidence_of_best(4), 5, 2), 0.05);
  EXPECT_GE(false_winners(default_confidence, 5, 3), 0.1) << "which is what it is for";
}

}  // namespace
}  // namespace deepgap
