#include "stats/cut_short.h"

#include "stats/test_series.h"

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

TEST(CutShort, NothingCutIsWeighedAlike) {
  const std::vector<CutShort> all{{3, true}, {1, true}, {2, true}};
  const CutShortWeights found = weigh_cut_short(all);
  EXPECT_EQ(found.weights, (std::vector<double>{1, 1, 1}));
  EXPECT_DOUBLE_EQ(found.unseen, 0);
  EXPECT_TRUE(weigh_cut_short({}).weights.empty());
}

// Freireich's 6-MP data, as every textbook has it: survival 0.6275 at 10 weeks, 0.4482 at 23.
TEST(CutShort, IsKaplanAndMeiersEstimator) {
  std::vector<CutShort> weeks;
  for (const double whole : {6, 6, 6, 7, 10, 13, 16, 22, 23}) weeks.push_back({whole, true});
  for (const double cut : {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35}) weeks.push_back({cut, false});
  const CutShortWeights found = weigh_cut_short(weeks);
  const auto survival = [&](double at) {
    double ended = 0;
    for (size_t i = 0; i < weeks.size(); ++i) ended += weeks[i].duration <= at ? found.weights[i] : 0;
    return 1 - ended / static_cast<double>(weeks.size());
  };
  EXPECT_NEAR(survival(6), 0.8571, 1e-4);
  EXPECT_NEAR(survival(10), 0.7529, 1e-4);
  EXPECT_NEAR(survival(22), 0.5378, 1e-4);
  EXPECT_NEAR(survival(23), 0.4482, 1e-4);
  EXPECT_NEAR(found.unseen, 0.4482, 1e-4);
}

TEST(CutShort, RepairsThePreferenceForShortOnes) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> length(0, 0.5);
  std::exponential_distribution<double> until_cut(1);
  std::vector<CutShort> seen;
  for (int i = 0; i < 200'000; ++i) {
    const double full = length(random), cut = until_cut(random);
    seen.push_back({std::min(full, cut), full <= cut});
  }
  const CutShortWeights found = weigh_cut_short(seen);
  double plain = 0, count = 0, weighed = 0, weights = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].whole) plain += seen[i].duration, ++count;
    weighed += found.weights[i] * seen[i].duration;
    weights += found.weights[i];
  }
  const double truth = std::exp(0.125);
  EXPECT_LT(plain / count, 0.85 * truth) << "what leaving out those that were cut short would say";
  EXPECT_NEAR(weighed / weights, truth, 0.02 * truth);
  EXPECT_LT(found.unseen, 0.01);
}

}  // namespace
}  // namespace deepgap
