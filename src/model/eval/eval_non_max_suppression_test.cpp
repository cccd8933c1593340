#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Rows = std::vector<int64_t>;

// Boxes 0 and 1 overlap by two thirds, box 2 is apart; its corners are given the other way round.
const Tensor boxes = floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.2f, 1, 1.2f, 3, 3, 2, 2});

Rows select(const Tensor& from, const std::vector<float>& scores, int64_t most, float overlap, float least = 0, int64_t center = 0) {
  const TestNode node{"NonMaxSuppression", {{"center_point_box", center}}};
  const Tensor y = node.run({from, floats({1, 1, static_cast<int64_t>(scores.size())}, scores), longs({1}, {most}), floats({1}, {overlap}),
                             floats({1}, {least})});
  EXPECT_EQ(y.shape, (Shape{static_cast<int64_t>(list<int64_t>(y).size()) / 3, 3}));
  return list<int64_t>(y);
}

TEST(EvalNonMaxSuppression, TheBetterOfTwoThatOverlap) {
  EXPECT_EQ(select(boxes, {0.5f, 0.9f, 0.3f}, 3, 0.5f), (Rows{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(select(boxes, {0.5f, 0.9f, 0.3f}, 3, 0.7f), (Rows{0, 0, 1, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(select(boxes, {0.5f, 0.5f, 0.5f}, 3, 0.5f), (Rows{0, 0, 0, 0, 0, 2}));
}

TEST(EvalNonMaxSuppression, AtMostSoManyAndNoneBelowAScore) {
  EXPECT_EQ(select(boxes, {0.5f, 0.9f, 0.3f}, 1, 0.5f), (Rows{0, 0, 1}));
  EXPECT_EQ(select(boxes, {0.5f, 0.9f, 0.3f}, 3, 0.5f, 0.3f), (Rows{0, 0, 1}));
  EXPECT_EQ(select(boxes, {0.5f, 0.9f, 0.3f}, 0, 0.5f), Rows{});
  EXPECT_EQ(list<int64_t>(TestNode{"NonMaxSuppression"}.run({boxes, floats({1, 1, 3}, {1, 1, 1})})), Rows{});
}

TEST(EvalNonMaxSuppression, BoxesByTheirCenters) {
  const Tensor centers = floats({1, 2, 4}, {0.5f, 0.5f, 1, 1, 0.5f, 0.6f, 1, 1});
  EXPECT_EQ(select(centers, {0.1f, 0.2f}, 2, 0.5f, 0, 1), (Rows{0, 0, 1}));
}

TEST(EvalNonMaxSuppression, ClassesAndPicturesStandAlone) {
  const TestNode node{"NonMaxSuppression"};
  const Tensor two = floats({2, 1, 4}, {0, 0, 1, 1, 0, 0, 1, 1});
  const Tensor y = node.run({two, floats({2, 2, 1}, {1, 2, 3, 4}), longs({}, {5}), floats({}, {0.5f})});
  EXPECT_EQ(list<int64_t>(y), (Rows{0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0}));
  EXPECT_THROW(node.run({two, floats({1, 2, 1}, {1, 2})}), Error);
}

}  // namespace
}  // namespace deepgap
