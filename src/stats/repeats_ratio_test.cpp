#include "stats/repeats_ratio.h"

#include "stats/test_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace deepgap {
namespace {

using Repeats = std::vector<RepeatValue>;

// k repeats of a truth: what the block does to both, what the process does to one.
struct Scatter {
  double block = 0, process = 0.01;
};

std::pair<Repeats, Repeats> measured(std::mt19937_64& random, size_t k, double truth, const Scatter& scatter) {
  std::normal_distribution<double> normal;
  std::pair<Repeats, Repeats> both;
  for (size_t i = 0; i < k; ++i) {
    const double block = std::exp(scatter.block * normal(random));
    both.first.push_back({i, truth * block * std::exp(scatter.process * normal(random)), 0});
    both.second.push_back({i, block * std::exp(scatter.process * normal(random)), 0});
  }
  return both;
}

template <typename Judge>
double share_judged(size_t k, double truth, const Scatter& scatter, uint64_t seed, Judge judge) {
  std::mt19937_64 random(seed);
  return share_of(2000, [&] {
    const auto [first, second] = measured(random, k, truth, scatter);
    return judge(*ratio_of_repeats(first, second));
  });
}

bool is_told(const RepeatsRatio& ratio) { return difference(ratio, 0) != Difference::unknown; }

TEST(RepeatsRatio, PairsOfHandComputedValues) {
  const Repeats a{{1, std::exp(1.1), 0}, {2, std::exp(2.2), 0}, {3, std::exp(3.3), 0}},
      b{{3, std::exp(3), 0}, {1, std::exp(1), 0}, {2, std::exp(2), 0}};
  const auto ratio = ratio_of_repeats(a, b);  // differences 0.1, 0.2, 0.3
  ASSERT_TRUE(ratio);
  EXPECT_TRUE(ratio->paired);
  EXPECT_NEAR(ratio->ratio, std::exp(0.2), 1e-12);
  EXPECT_NEAR(ratio->log_error, 0.1 / std::sqrt(3), 1e-12);
  EXPECT_EQ(ratio->degrees_of_freedom, 2);
  EXPECT_NEAR(std::log(ratio->interval().high), 0.2 + 4.3027 * 0.1 / std::sqrt(3), 1e-4);
  EXPECT_NEAR(ratio->p_value(), 0.0742, 1e-3);  // t = 3.464 with 2 degrees of freedom
}

TEST(RepeatsRatio, OneAndTwoRepeatsTellNothing) {
  for (const size_t k : {1u, 2u}) {
    std::mt19937_64 random(1);
    const auto [a, b] = measured(random, k, 2, {});
    const auto ratio = ratio_of_repeats(a, b);
    ASSERT_TRUE(ratio);
    EXPECT_FALSE(ratio->known());
    EXPECT_EQ(difference(*ratio, 0.02), Difference::unknown);
    EXPECT_EQ(ratio->p_value(), 1);
    EXPECT_EQ(repeats_needed(*ratio, 0.02), 0u);
  }
  EXPECT_FALSE(ratio_of_repeats({}, {}));
  EXPECT_FALSE(ratio_of_repeats(Repeats{{1, 0, 0}}, Repeats{{1, 1, 0}}));
  EXPECT_FALSE(ratio_of_repeats(Repeats{{1, NAN, 0}}, Repeats{{1, 1, 0}}));
}

TEST(RepeatsRatio, OtherBlocksAreComparedInGroups) {
  const Repeats a{{1, 10, 0}, {2, 11, 0}, {3, 12, 0}}, b{{4, 10, 0}, {5, 11, 0}, {6, 12, 0}};
  const auto ratio = ratio_of_repeats(a, b);
  EXPECT_FALSE(ratio->paired);
  EXPECT_DOUBLE_EQ(ratio->ratio, 1);
  EXPECT_NEAR(ratio->degrees_of_freedom, 4, 1e-9);
}

// Differences 0.1 and 0.1 on one node, 0.3 on another: 0.2 with one degree of freedom.
TEST(RepeatsRatio, PairsOfSeveralNodesCountByNode) {
  const Repeats a{{1, std::exp(1.1), 0, 7}, {2, std::exp(2.1), 0, 7}, {3, std::exp(3.3), 0, 8}},
      b{{1, std::exp(1), 0, 7}, {2, std::exp(2), 0, 7}, {3, std::exp(3), 0, 8}};
  const auto ratio = ratio_of_repeats(a, b);
  EXPECT_TRUE(ratio->paired && ratio->over_nodes);
  EXPECT_EQ(ratio->repeats, 2u);
  EXPECT_EQ(ratio->degrees_of_freedom, 1);
  EXPECT_NEAR(std::log(ratio->ratio), 0.2, 1e-12);
  EXPECT_NEAR(ratio->log_error, std::sqrt(0.02 / 2), 1e-12);
}

// Nodes are far apart, and each does the same to both.
TEST(RepeatsRatio, NodeAgainstNodeLeavesOutWhatNodesAre) {
  Repeats a, b;
  for (uint64_t node = 1; node <= 4; ++node) {
    const double of_node = std::exp(static_cast<double>(node));
    for (const double off : {0.99, 1.01}) {
      a.push_back({a.size(), 2 * of_node * off, 0, node});
      b.push_back({100 + b.size(), of_node * off, 0, node});
    }
  }
  b.push_back({200, 1, 0, 9});  // measured on a node that did not measure the other
  const auto ratio = ratio_of_repeats(a, b);
  EXPECT_TRUE(ratio->paired && ratio->over_nodes);
  EXPECT_EQ(ratio->repeats, 4u);
  EXPECT_NEAR(ratio->ratio, 2, 1e-9);
  const double of_process = std::pow(std::log(1.01 / 0.99), 2) / 2;
  EXPECT_NEAR(ratio->log_error, std::sqrt(of_process / 4), 0.002) << "what processes leave open, and no more";
  EXPECT_GT(ratio->log_error, 0.005);
}

TEST(RepeatsRatio, OtherNodesAreComparedInGroups) {
  const Repeats a{{1, 10, 0, 1}, {2, 10, 0, 1}, {3, 11, 0, 2}, {4, 12, 0, 3}}, b{{5, 10, 0, 4}, {6, 11, 0, 5}, {7, 12, 0, 6}};
  const auto ratio = ratio_of_repeats(a, b);
  EXPECT_FALSE(ratio->paired);
  EXPECT_TRUE(ratio->over_nodes);
  EXPECT_NEAR(ratio->ratio, 1, 1e-12);
  EXPECT_NEAR(ratio->degrees_of_freedom, 4, 1e-9) << "three nodes each";
}

// Three repeats that agree to 0.1 % on one node: that node is one of a kind whose nodes were seen to be 10 % apart.
TEST(RepeatsRatio, OneNodeIsAsUncertainAsNodesAre) {
  const Repeats several{{1, 10, 0, 1}, {2, 11, 0, 2}, {3, 12, 0, 3}}, one{{4, 11, 0, 9}, {5, 11.01, 0, 9}, {6, 10.99, 0, 9}};
  const auto ratio = ratio_of_repeats(several, one);
  const double mean = std::log(10.0 * 11 * 12) / 3;
  const double nodes = (std::pow(std::log(10) - mean, 2) + std::pow(std::log(11) - mean, 2) + std::pow(std::log(12) - mean, 2)) / 2;
  EXPECT_NEAR(ratio->log_error, std::sqrt(nodes + nodes / 3), 1e-3);
  EXPECT_LT(ratio->degrees_of_freedom, 4);
  EXPECT_DOUBLE_EQ(ratio_of_repeats(one, several)->log_error, ratio->log_error);
}

TEST(RepeatsRatio, AgreementByChanceIsNoCertainty) {
  const Repeats a{{1, 10, 0.01}, {2, 10, 0.01}, {3, 10, 0.01}}, b{{1, 9, 0.01}, {2, 9, 0.01}, {3, 9, 0.01}};
  const auto ratio = ratio_of_repeats(a, b);
  EXPECT_NEAR(ratio->log_error, std::sqrt((0.01 / 100 + 0.01 / 81) / 3), 1e-12);
}

// Each window drifts by far more than processes differ, in all of them alike: what is seen within says 20 %, processes differ by 0.3 %.
TEST(RepeatsRatio, WhatDriftsAlikeInEachWindowHidesNoDifference) {
  const auto told = [](double truth, uint64_t seed) {
    std::mt19937_64 random(seed);
    return share_of(2000, [&] {
      auto [first, second] = measured(random, 5, truth, {0, 0.003});
      for (Repeats* repeats : {&first, &second})
        for (RepeatValue& repeat : *repeats) repeat.variance = 0.04 * repeat.value * repeat.value;
      return is_told(*ratio_of_repeats(first, second));
    });
  };
  EXPECT_LE(told(1, 21), 0.05 + chance(0.05, 2000));
  EXPECT_GE(told(1.02, 22), 0.8);
}

TEST(RepeatsRatio, EqualThingsAreSeldomToldApart) {
  for (const size_t k : {3u, 5u, 10u}) {
    EXPECT_LE(share_judged(k, 1, {0, 0.01}, k, is_told), 0.05 + chance(0.05, 2000)) << k;
    EXPECT_LE(share_judged(k, 1, {0.05, 0.01}, k + 100, is_told), 0.05 + chance(0.05, 2000)) << k << " in blocks";
  }
}

TEST(RepeatsRatio, PairingFindsWhatDriftHides) { EXPECT_GE(share_judged(5, 1.02, {0.05, 0.01}, 7, is_told), 0.5) << "unpaired it is 0.01"; }

TEST(RepeatsRatio, TheSameWithinAMargin) {
  const auto is_same = [](const RepeatsRatio& ratio) { return difference(ratio, 0.02) == Difference::same; };
  EXPECT_GE(share_judged(5, 1, {0.05, 0.003}, 8, is_same), 0.95);
  EXPECT_LE(share_judged(5, 1.02, {0.05, 0.003}, 9, is_same), 0.05 + chance(0.05, 2000)) << "at the margin it is not";
}

// What is said of the repeats that it takes holds.
TEST(RepeatsRatio, SoManyRepeatsShowIt) {
  std::mt19937_64 random(10);
  const auto [a, b] = measured(random, 200, 1, {0.05, 0.01});
  const size_t needed = repeats_needed(*ratio_of_repeats(a, b), 0.02);
  EXPECT_GE(needed, 5u);
  EXPECT_LE(needed, 9u);
  const double shown = share_judged(needed, 1.02, {0.05, 0.01}, 11, is_told);
  EXPECT_GE(shown, 0.75);
  EXPECT_LE(shown, 0.92);
  const auto ratio = ratio_of_repeats(std::span(a).first(needed), std::span(b).first(needed));
  EXPECT_EQ(repeats_needed(*ratio, smallest_effect(*ratio) * 1.0001), needed);
}

}  // namespace
}  // namespace deepgap
