#include "scenario/adjacent_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace deepgap {
namespace {

using testing::ElementsAre;
using Positions = std::vector<uint32_t>;

struct Set {
  explicit Set(size_t count) : values(count) {
    for (size_t i = 0; i < count; ++i) values[i] = {static_cast<float>(i), static_cast<float>(i) + 0.5F};
    for (size_t i = 0; i < count; ++i)
      views.push_back({{DataType::f32, shape, reinterpret_cast<const std::byte*>(&values[i][0])},
                       {DataType::f32, shape, reinterpret_cast<const std::byte*>(&values[i][1])}});
  }
  Shape shape{1, 1};
  std::vector<std::array<float, 2>> values;
  std::vector<std::vector<TensorView>> views;
};

TEST(AdjacentSamples, EveryBatchOfTheCycleIsOnePieceInEveryInput) {
  const Set set(3);
  const AdjacentSamples adjacent(set.views, 4);
  const auto views = adjacent.views();
  ASSERT_EQ(views.size(), 6U);
  for (size_t i = 0; i < views.size(); ++i) {
    EXPECT_EQ(views[i][0].as<float>()[0], static_cast<float>(i % 3));
    EXPECT_EQ(views[i][1].as<float>()[0], static_cast<float>(i % 3) + 0.5F);
    EXPECT_THAT(views[i][1].shape, ElementsAre(1, 1));
  }
  for (size_t i = 1; i < views.size(); ++i)
    for (size_t input : {0, 1}) EXPECT_EQ(views[i][input].data, views[i - 1][input].data + 4);
}

TEST(AdjacentSamples, SamplesOfSeveralShapesStayWhereTheyAre) {
  Set set(2);
  const Shape wider{1, 2};
  set.views[1][0].shape = wider;
  EXPECT_TRUE(AdjacentSamples(set.views, 2).views().empty());
  EXPECT_TRUE(AdjacentSamples({}, 2).views().empty());
}

TEST(AdjacentSamples, WhatWouldTakeTooMuchMemoryStaysWhereItIs) {
  const Set set(2);
  EXPECT_TRUE(AdjacentSamples(set.views, int64_t{1} << 40).views().empty());
}

Positions followed(Positions positions, size_t cycle, size_t staged) {
  follow_neighbours(positions, cycle, staged);
  return positions;
}

TEST(FollowNeighbours, ABatchThatGoesRoundTheCycleIsOneRun) {
  EXPECT_THAT(followed({0, 1, 2, 3, 0, 1}, 4, 9), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(followed({3, 0, 1, 2, 3, 0}, 4, 9), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(followed({0, 0, 0}, 1, 3), ElementsAre(0, 1, 2));
}

TEST(FollowNeighbours, OthersStandForThemselves) {
  EXPECT_THAT(followed({2, 0, 3}, 4, 6), ElementsAre(2, 0, 3));
  EXPECT_THAT(followed({1, 1}, 4, 5), ElementsAre(1, 1));
  EXPECT_THAT(followed({3, 0, 1, 2}, 4, 5), ElementsAre(3, 4, 1, 2)) << "no more are staged";
}

}  // namespace
}  // namespace deepgap
