#include "stats/nested.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace deepgap {
namespace {

TEST(NestedMean, OfOneNodeIsThatOfItsProcesses) {
  const std::vector<ProcessValue> values{{99, 0, 7}, {100, 0, 7}, {101, 0, 7}};
  const NestedMean mean = nested_mean(values);
  EXPECT_DOUBLE_EQ(mean.estimate.mean, 100);
  EXPECT_DOUBLE_EQ(mean.estimate.variance_of_mean, 1.0 / 3);
  EXPECT_DOUBLE_EQ(mean.estimate.degrees_of_freedom, 2);
  EXPECT_EQ(mean.nodes, 1);
  EXPECT_DOUBLE_EQ(mean.process_variance, 1);
  EXPECT_EQ(mean.node_variance, 0);
}

// Two nodes at 100 and 110, whose mean of two processes is each known to a variance of 2 / 2: nodes differ by 50 - 1.
TEST(NestedMean, TellsLevelsApart) {
  const std::vector<ProcessValue> values{{99, 0, 1}, {101, 0, 1}, {109, 0, 2}, {111, 0, 2}};
  EXPECT_DOUBLE_EQ(nested_mean(values).process_variance, 2);
  EXPECT_DOUBLE_EQ(nested_mean(values).node_variance, 49);
}

// Two nodes at 100 and 110: variance of their mean 50 / 2, one degree of freedom, however many processes ran.
TEST(NestedMean, NodesCountAndNotProcesses) {
  const std::vector<ProcessValue> values{{99, 0, 1}, {100, 0, 1}, {101, 0, 1}, {110, 0, 2}};
  const NestedMean mean = nested_mean(values);
  EXPECT_DOUBLE_EQ(mean.estimate.mean, 105) << "each node once";
  EXPECT_DOUBLE_EQ(mean.estimate.variance_of_mean, 25);
  EXPECT_DOUBLE_EQ(mean.estimate.degrees_of_freedom, 1);
  EXPECT_EQ(mean.estimate.n, 4);
  EXPECT_EQ(mean.nodes, 2);
}

// Nodes that agree by chance: their processes differ by 2, so that each node's mean is known to 1, and their mean to 1 / sqrt(2).
TEST(NestedMean, IsNeverSurerThanProcessesAllow) {
  const std::vector<ProcessValue> values{{99, 0, 1}, {101, 0, 1}, {99, 0, 2}, {101, 0, 2}};
  EXPECT_DOUBLE_EQ(nested_mean(values).estimate.variance_of_mean, 0.5);
  const std::vector<ProcessValue> alike{{100, 8, 1}, {100, 8, 2}};
  EXPECT_DOUBLE_EQ(nested_mean(alike).estimate.variance_of_mean, 4) << "nor than what is seen within them";
}

// Four degrees of freedom: 5 % of normal values have a variance below 0.711 / 4 of the true one.
TEST(NestedMean, WhatIsSeenWithinCountsAsFarAsTheProcessesCouldScatterSo) {
  const auto of = [](double within) {
    return nested_mean(std::vector<ProcessValue>{{98, within}, {99, within}, {100, within}, {101, within}, {102, within}}).estimate;
  };
  EXPECT_DOUBLE_EQ(of(2).variance_of_mean, 0.5);
  EXPECT_DOUBLE_EQ(of(10).variance_of_mean, 2);
  EXPECT_NEAR(of(1000).variance_of_mean, 0.5 * 4 / 0.7107, 1e-3) << "each drifts alike";
  const std::vector<ProcessValue> nodes{{99, 1000, 1}, {101, 1000, 1}, {99, 1000, 2}, {101, 1000, 2}};
  EXPECT_NEAR(nested_mean(nodes).process_variance, 2 * 2 / 0.1026, 0.05);
}

}  // namespace
}  // namespace deepgap
