#include "stats/crossing.h"

#include "stats/test_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace deepgap {
namespace {

// Shares on a line through `allowed` at load 100: the logit grows by `slope` for each unit of the load's logarithm.
double share_of_load(double load, double slope, double allowed = 0.01) {
  const double logit = std::log(allowed / (1 - allowed)) + slope * std::log(load / 100);
  return 1 / (1 + std::exp(-logit));
}

// Late queries in clusters of `cluster`.
LoadRun run_at(double load, double queries, double slope, double cluster, std::mt19937_64& random) {
  std::poisson_distribution<int> clusters(queries * share_of_load(load, slope) / cluster);
  return {load, queries, std::min(queries, cluster * clusters(random))};
}

TEST(Crossing, OfExactSharesIsExact) {
  for (const double slope : {2.0, 20.0, 90.0}) {
    std::vector<LoadRun> runs;
    for (const double logit : {-1.0, -0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.3, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}) {
      const double load = 100 * std::exp(logit / slope);
      runs.push_back({load, 1e6, 1e6 * share_of_load(load, slope)});
    }
    const auto crossing = find_crossing(runs, 0.01);
    ASSERT_TRUE(crossing) << slope;
    EXPECT_NEAR(crossing->load, 100, 1e-6) << slope;
    EXPECT_NEAR(crossing->slope, slope, 1e-6) << slope;
    ASSERT_TRUE(crossing->interval) << slope;
    EXPECT_LT(crossing->interval->low, 100);
    EXPECT_GT(crossing->interval->high, 100);
  }
}

TEST(Crossing, WhatIsFarOffDoesNotCount) {
  std::vector<LoadRun> runs;
  for (const double load : {82.0, 86.0, 90.0, 92.0, 95.0, 98.0, 102.0, 105.0, 108.0, 110.0, 113.0, 118.0})
    runs.push_back({load, 1e6, 1e6 * share_of_load(load, 5)});
  runs.push_back({1000, 1e6, 1e6});  // an overload, and a load at which nothing is late
  runs.push_back({1, 1e6, 0});
  const auto crossing = find_crossing(runs, 0.01);
  ASSERT_TRUE(crossing);
  EXPECT_NEAR(crossing->load, 100, 0.01);
  EXPECT_EQ(crossing->runs, 12u);
  EXPECT_FALSE(crossing->interval) << "of a dozen runs";
}

TEST(Crossing, TheIntervalHoldsTheTruth) {
  std::mt19937_64 random(1);
  for (const double slope : {2.0, 10.0, 80.0}) {
    for (const double cluster : {1.0, 20.0}) {
      int stated = 0;
      const double covered = share_of(500, [&] {
        std::vector<LoadRun> runs;
        for (int i = 0; i < 30; ++i)
          runs.push_back(run_at(100 * std::exp((i % 2 == 0 ? 0.7 : -0.7) / slope), 5000, slope, cluster, random));
        const auto crossing = find_crossing(runs, 0.01);
        if (!crossing || !crossing->interval) return true;  // says nothing
        ++stated;
        return crossing->interval->low <= 100 && 100 <= crossing->interval->high;
      });
      EXPECT_GE(covered, 0.92) << slope << " " << cluster;
      EXPECT_GE(stated, 450) << slope << " " << cluster;
    }
  }
}

TEST(Crossing, OfTooLittleNothingIsSaid) {
  EXPECT_FALSE(find_crossing({}, 0.01));
  EXPECT_FALSE(find_crossing(std::vector<LoadRun>{{100, 1000, 10}, {101, 1000, 12}, {102, 1000, 13}}, 0.01));
  EXPECT_FALSE(find_crossing(std::vector<LoadRun>(10, {100, 1000, 10}), 0.01)) << "one load has no slope";
  EXPECT_FALSE(find_crossing(std::vector<LoadRun>{{98, 1000, 20}, {99, 1000, 15}, {101, 1000, 8}, {102, 1000, 5}}, 0.01)) << "it falls";
  std::vector<LoadRun> none, all, broken;
  for (const double load : {98.0, 99.0, 100.0, 101.0, 102.0}) {
    none.push_back({load, 1000, 0});
    all.push_back({load, 1000, 1000});
    broken.push_back({load > 100 ? 0 : load, load < 99 ? 0.0 : 1000, 5000});
  }
  EXPECT_FALSE(find_crossing(none, 0.01));
  EXPECT_FALSE(find_crossing(all, 0.01));
  EXPECT_FALSE(find_crossing(broken, 0.01));
}

}  // namespace
}  // namespace deepgap
