#include "backends/generate/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace deepgap {
namespace {

TEST(Sampler, GreedyTakesTheFirstOfTheHighest) { EXPECT_EQ(Sampler({}, 1).choose(std::vector<float>{1, 5, 5, 2}), 1); }

TEST(Sampler, DrawsAsOftenAsItsSettingsSay) {
  const std::vector<float> scores{0, std::log(2.0F), std::log(4.0F), std::log(1.0F)};
  std::map<int64_t, int> counts;
  Sampler sampler({.temperature = 1, .seed = 5}, 1);
  for (int i = 0; i < 8000; ++i) ++counts[sampler.choose(scores)];
  EXPECT_NEAR(counts[2], 4000, 250);
  EXPECT_NEAR(counts[1], 2000, 200);
  Sampler two({.temperature = 1, .top_k = 2, .seed = 5}, 1), half({.temperature = 1, .top_p = 0.5, .seed = 5}, 1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(two.choose(scores), 1);
    EXPECT_LE(two.choose(scores), 2);
    EXPECT_EQ(half.choose(scores), 2);
  }
}

TEST(Sampler, TheSeedDecidesAndEachQueryHasItsOwnNumbers) {
  const std::vector<float> scores(1000, 0);
  const auto draws = [&](uint64_t seed, uint64_t stream) {
    Sampler sampler({.temperature = 1, .seed = seed}, stream);
    std::vector<int64_t> all;
    for (int i = 0; i < 5; ++i) all.push_back(sampler.choose(scores));
    return all;
  };
  EXPECT_EQ(draws(1, 1), draws(1, 1));
  EXPECT_NE(draws(1, 1), draws(2, 1));
  EXPECT_NE(draws(1, 1), draws(1, 2));
}

}  // namespace
}  // namespace deepgap
