#include "analysis/winner_value.h"

#include <gtest/gtest.h>

#include <random>

namespace deepgap {
namespace {

std::vector<PointSummary> points_of(std::mt19937_64& random, int count, int repeats, double scatter, double first = 100) {
  std::normal_distribution<double> normal;
  PointCollector collector;
  for (int p = 0; p < count; ++p) {
    for (int repeat = 0; repeat < repeats; ++repeat) {
      Record record;
      record.run_id = "run";
      record.repeat = repeat;
      record.point.model = "m";
      record.point.batch = p + 1;
      record.verdict = Verdict::valid;
      record.estimates["throughput"] = {(p == 0 ? first : 100) * (1 + scatter * normal(random)), {}, {}, 10};
      collector.add(record);
    }
  }
  return collector.summaries();
}

double mean_of(const PointSummary& point) { return point.find("throughput")->estimate.value; }

struct Valued {
  double found, plain;
};

Valued valued(const std::vector<PointSummary>& points) {
  std::vector<const PointSummary*> all;
  for (const PointSummary& point : points) all.push_back(&point);
  const PointSummary& best = **std::max_element(all.begin(), all.end(), [](auto* a, auto* b) { return mean_of(*a) < mean_of(*b); });
  return {value_of_winner(all, best).value_or(0), mean_of(best)};
}

TEST(ValueOfWinner, TheBestOfEqualOnesIsNoBetterThanTheyAre) {
  std::mt19937_64 random(1);
  double found = 0, plain = 0;
  for (int i = 0; i < 400; ++i) {
    const Valued value = valued(points_of(random, 12, 5, 0.02));
    found += value.found / 400;
    plain += value.plain / 400;
  }
  EXPECT_GT(plain, 101.2) << "what it is for";
  EXPECT_NEAR(found, 100, 0.3);
}

TEST(ValueOfWinner, AClearWinnerHasItsOwnMean) {
  std::mt19937_64 random(2);
  const Valued value = valued(points_of(random, 12, 5, 0.01, 130));
  EXPECT_DOUBLE_EQ(value.found, value.plain);
}

TEST(ValueOfWinner, FewRepeatsTellNothing) {
  std::mt19937_64 random(3);
  EXPECT_EQ(valued(points_of(random, 3, 2, 0.01)).found, 0);
}

}  // namespace
}  // namespace deepgap
