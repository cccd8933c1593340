#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <limits>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

TEST(EvalPick, Gather) {
  const Tensor x = counting({3, 2});
  EXPECT_EQ(list_floats(TestNode{"Gather"}.run({x, longs({2}, {2, 0})})), (Floats{4, 5, 0, 1}));
  EXPECT_EQ(list_floats(TestNode{"Gather", {{"axis", int64_t{1}}}}.run({x, longs({}, {-1})})), (Floats{1, 3, 5}));
  EXPECT_EQ((TestNode{"Gather", {{"axis", int64_t{1}}}}.run({x, longs({}, {0})}).shape), (Shape{3}));
  EXPECT_EQ(TestNode{"Gather"}.run({x, longs({2, 1}, {0, 1})}).shape, (Shape{2, 1, 2}));
  EXPECT_EQ(TestNode{"Gather"}.run({x, longs({0}, {})}).shape, (Shape{0, 2}));
  EXPECT_EQ(list<uint8_t>(TestNode{"Gather"}.run({flags({2}, {1, 0}), longs({2}, {-1, -2})})), (std::vector<uint8_t>{0, 1}));
  EXPECT_THROW(TestNode{"Gather"}.run({x, longs({1}, {3})}), Error);
  EXPECT_THROW(TestNode{"Gather"}.run({x, longs({1}, {std::numeric_limits<int64_t>::min()})}), Error);
}

TEST(EvalPick, GatherElements) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  const TestNode columns{"GatherElements", {{"axis", int64_t{1}}}};
  EXPECT_EQ(list_floats(columns.run({x, longs({2, 3}, {0, 0, 1, -1, 0, -2})})), (Floats{1, 1, 2, 4, 3, 3}));
  EXPECT_EQ(list_floats(TestNode{"GatherElements"}.run({x, longs({1, 2}, {1, 0})})), (Floats{3, 2}));
  EXPECT_EQ(columns.run({x, longs({2, 0}, {})}).shape, (Shape{2, 0}));
  EXPECT_THROW(columns.run({x, longs({3, 1}, {0, 0, 0})}), Error);
  EXPECT_THROW(columns.run({x, longs({1, 1}, {2})}), Error);
  EXPECT_THROW(columns.run({x, longs({1}, {0})}), Error);
}

TEST(EvalPick, GatherNd) {
  const Tensor x = counting({2, 2, 2});
  EXPECT_EQ(list_floats(TestNode{"GatherND"}.run({x, longs({2, 2}, {0, 1, 1, 0})})), (Floats{2, 3, 4, 5}));
  EXPECT_EQ(list_floats(TestNode{"GatherND"}.run({x, longs({1, 3}, {-1, 0, 1})})), (Floats{5}));
  EXPECT_EQ(TestNode{"GatherND"}.run({x, longs({2, 1, 1}, {1, 0})}).shape, (Shape{2, 1, 2, 2}));
  const TestNode batched{"GatherND", {{"batch_dims", int64_t{1}}}};
  EXPECT_EQ(list_floats(batched.run({x, longs({2, 1}, {1, 0})})), (Floats{2, 3, 4, 5}));
  EXPECT_THROW(batched.run({x, longs({3, 1}, {1, 0, 0})}), Error);
  EXPECT_THROW(TestNode{"GatherND"}.run({x, longs({1, 4}, {0, 0, 0, 0})}), Error);
  EXPECT_THROW(TestNode{"GatherND"}.run({x, longs({1}, {2})}), Error);
}

TEST(EvalPick, NonZero) {
  const Tensor y = TestNode{"NonZero"}.run({floats({2, 3}, {0, 1, -0.0f, 2, 0, -3})});
  EXPECT_EQ(y.shape, (Shape{2, 3}));
  EXPECT_EQ(list<int64_t>(y), (Ints{0, 1, 1, 1, 0, 2}));
  EXPECT_EQ(list<int64_t>(TestNode{"NonZero"}.run({flags({3}, {1, 0, 1})})), (Ints{0, 2}));
  EXPECT_EQ(list<int64_t>(TestNode{"NonZero"}.run({longs({2}, {std::numeric_limits<int64_t>::min(), 0})})), (Ints{0}));
  EXPECT_EQ(TestNode{"NonZero"}.run({floats({}, {3})}).shape, (Shape{1, 1}));
  EXPECT_EQ(TestNode{"NonZero"}.run({floats({2, 0}, {})}).shape, (Shape{2, 0}));
}

TEST(EvalPick, Trilu) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const TestNode lower{"Trilu", {{"upper", int64_t{0}}}};
  EXPECT_EQ(list_floats(TestNode{"Trilu"}.run({x})), (Floats{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(list_floats(TestNode{"Trilu"}.run({x, longs({}, {1})})), (Floats{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(list_floats(lower.run({x})), (Floats{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(list_floats(lower.run({x, longs({}, {-1})})), (Floats{0, 0, 0, 4, 0, 0}));
  EXPECT_EQ(list_floats(lower.run({x, longs({}, {std::numeric_limits<int64_t>::max()})})), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(list_floats(TestNode{"Trilu"}.run({x, longs({}, {std::numeric_limits<int64_t>::min()})})), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(TestNode{"Trilu"}.run({floats({0, 2}, {})}).shape, (Shape{0, 2}));
  EXPECT_THROW(TestNode{"Trilu"}.run({floats({1}, {1})}), Error);
}

}  // namespace
}  // namespace deepgap
