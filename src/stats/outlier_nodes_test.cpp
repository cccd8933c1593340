#include "stats/outlier_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Values = std::vector<NodeValue>;

// Each node's speed, measured twice of each thing within 0.2 %.
Values measured(const std::vector<double>& speeds, uint32_t things = 1) {
  Values values;
  for (uint32_t node = 0; node < speeds.size(); ++node) {
    for (uint32_t thing = 0; thing < things; ++thing) {
      const double wobble = 1 + 0.001 * ((node * 7 + thing * 3) % 5);
      values.push_back({thing, node, 100 * (thing + 1) * speeds[node] * wobble});
      values.push_back({thing, node, 100 * (thing + 1) * speeds[node] / wobble});
    }
  }
  return values;
}

std::vector<uint32_t> outliers(const Values& values) {
  std::vector<uint32_t> found;
  for (const NodeSpeed& speed : compare_nodes(values)) {
    if (speed.is_outlier) found.push_back(speed.node);
  }
  return found;
}

TEST(OutlierNodes, OneThatIsSlowerIsNamedAndByHowMuch) {
  const Values values = measured({1, 1.002, 0.999, 0.9, 1.001, 0.998});
  EXPECT_THAT(outliers(values), ElementsAre(3));
  const NodeSpeed slow = compare_nodes(values)[3];
  EXPECT_NEAR(slow.ratio, 0.9, 0.002);
  EXPECT_LT(slow.interval.low, 0.9);
  EXPECT_GT(slow.interval.high, 0.9);
  EXPECT_LT(slow.interval.high, 0.92);
  EXPECT_EQ(slow.others, 5);
  EXPECT_EQ(slow.values, 2);
}

TEST(OutlierNodes, SeveralDoNotHideEachOther) {
  EXPECT_THAT(outliers(measured({1, 1.002, 0.999, 0.9, 1.001, 0.998, 0.91, 1, 1.003, 0.997})), ElementsAre(3, 6));
}

TEST(OutlierNodes, NodesThatDifferAsTheirKindDoesAreNone) {
  EXPECT_THAT(outliers(measured({1, 1.03, 0.98, 0.96, 1.02, 0.99, 1.01, 0.95})), IsEmpty());
  EXPECT_THAT(outliers(measured({1, 0.9})), IsEmpty()) << "of two nobody can tell";
  EXPECT_THAT(outliers({}), IsEmpty());
}

// A node that ran once, beside others that ran often: one run of it is as far off as any run may be.
TEST(OutlierNodes, FewRunsAreNoReason) {
  Values values;
  for (uint32_t node = 0; node < 6; ++node) {
    for (int run = 0; run < 20; ++run) values.push_back({0, node, run % 2 == 0 ? 98.0 : 102.0});
  }
  values.push_back({0, 6, 97.5});
  EXPECT_THAT(outliers(values), IsEmpty());
}

TEST(OutlierNodes, OneDisturbedRunIsNoSlowNode) {
  Values values = measured({1, 1.002, 0.999, 1, 1.001, 0.998, 1.003, 0.997});
  for (NodeValue& value : values) {
    if (value.node != 3) continue;
    value.value *= 0.8;  // its first run
    break;
  }
  EXPECT_THAT(outliers(values), IsEmpty());
}

// Nodes 0 to 3 measured one thing, 3 to 6 another: by node 3 all are on one scale. Others, that share nothing with them, are a part of
// their own.
TEST(OutlierNodes, ThingsLinkNodes) {
  Values values;
  const std::vector<double> speeds{1, 1.001, 0.999, 1, 1.001, 0.9, 0.999};
  for (uint32_t node = 0; node < speeds.size(); ++node) {
    for (const double wobble : {1.0005, 0.9995}) {
      if (node <= 3) values.push_back({0, node, 10 * speeds[node] * wobble});
      if (node >= 3) values.push_back({1, node, 5000 * speeds[node] * wobble});
    }
  }
  EXPECT_THAT(outliers(values), ElementsAre(5));
  const Values apart = measured({1, 1.002, 0.999, 1.001, 0.85, 1});
  for (const NodeValue& value : apart) values.push_back({value.thing + 10, value.node + 10, value.value});
  EXPECT_THAT(outliers(values), ElementsAre(5, 14));
}

// Checks the page's promise, with fewer series than bench/coverage has: equal nodes are named in at most 5 % of fleets.
TEST(OutlierNodes, EqualNodesAreSeldomNamed) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  for (const uint32_t nodes : {4U, 8U, 16U}) {
    int named = 0;
    constexpr int fleets = 1000;
    for (int i = 0; i < fleets; ++i) {
      Values values;
      for (uint32_t node = 0; node < nodes; ++node) {
        for (int run = 0; run < 2; ++run) values.push_back({0, node, std::exp(0.01 * normal(random))});
      }
      named += outliers(values).empty() ? 0 : 1;
    }
    EXPECT_LE(named, 50) << nodes;
  }
}

}  // namespace
}  // namespace deepgap
