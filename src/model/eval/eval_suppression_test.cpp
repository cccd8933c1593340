#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

// Two boxes nearly on top of each other, and one apart.
Tensor three_boxes() { return floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 2, 2, 3, 3}); }
Tensor one(float value) { return floats({1}, {value}); }

TEST(EvalSuppression, TheBestOfThoseThatOverlapStays) {
  const TestNode node{"NonMaxSuppression"};
  const Tensor scores = floats({1, 1, 3}, {0.5, 0.9, 0.7});
  const Tensor kept = node.run({three_boxes(), scores, longs({1}, {10}), one(0.5)});
  EXPECT_EQ(kept.shape, (Shape{2, 3}));
  EXPECT_EQ(list<int64_t>(kept), (Ints{0, 0, 1, 0, 0, 2}));
  // 0.9 of 1.1 is shared: nothing is dropped where so much is allowed.
  EXPECT_EQ(list<int64_t>(node.run({three_boxes(), scores, longs({1}, {10}), one(0.9)})), (Ints{0, 0, 1, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(list<int64_t>(node.run({three_boxes(), scores, longs({1}, {1}), one(0.5)})), (Ints{0, 0, 1}));
  EXPECT_EQ(list<int64_t>(node.run({three_boxes(), scores, longs({}, {10}), floats({}, {0.5}), one(0.7)})), (Ints{0, 0, 1}));
}

TEST(EvalSuppression, ClassesAndSamplesApart) {
  const TestNode node{"NonMaxSuppression"};
  const Tensor boxes = floats({2, 1, 4}, {0, 0, 1, 1, 0, 0, 1, 1});
  EXPECT_EQ(list<int64_t>(node.run({boxes, floats({2, 2, 1}, {1, 1, 1, 1}), longs({1}, {1}), one(0)})),
            (Ints{0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0}));
}

TEST(EvalSuppression, CornersInAnyOrderAndCentres) {
  const Tensor scores = floats({1, 1, 2}, {0.5, 0.9});
  const Tensor flipped = floats({1, 2, 4}, {1, 1, 0, 0, 0, 0, 1, 1});
  EXPECT_EQ(list<int64_t>(TestNode{"NonMaxSuppression"}.run({flipped, scores, longs({1}, {9}), one(0.5)})), (Ints{0, 0, 1}));
  // x, y, width, height: apart in x alone.
  const Tensor centres = floats({1, 2, 4}, {0, 0, 2, 1, 5, 0, 2, 1});
  const TestNode node{"NonMaxSuppression", {{"center_point_box", int64_t{1}}}};
  EXPECT_EQ(list<int64_t>(node.run({centres, scores, longs({1}, {9}), one(0.5)})), (Ints{0, 0, 1, 0, 0, 0}));
}

TEST(EvalSuppression, NothingStays) {
  const TestNode node{"NonMaxSuppression"};
  const Tensor scores = floats({1, 1, 3}, {0.5, 0.9, 0.7});
  EXPECT_EQ(node.run({three_boxes(), scores}).shape, (Shape{0, 3}));  // at most none, where nothing is said
  EXPECT_EQ(node.run({three_boxes(), scores, longs({1}, {5}), one(0.5), one(1)}).shape, (Shape{0, 3}));
  EXPECT_EQ(node.run({floats({1, 0, 4}, {}), floats({1, 2, 0}, {}), longs({1}, {5})}).shape, (Shape{0, 3}));
  EXPECT_THROW(node.run({three_boxes(), floats({1, 1, 2}, {1, 1}), longs({1}, {5})}), Error);
}

}  // namespace
}  // namespace deepgap
