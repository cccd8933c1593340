#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <limits>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

TEST(EvalMove, Transpose) {
  EXPECT_EQ(list_floats(TestNode{"Transpose"}.run({counting({2, 3})})), (Floats{0, 3, 1, 4, 2, 5}));
  const Tensor y = TestNode{"Transpose", {{"perm", Ints{1, 0, 2}}}}.run({counting({2, 2, 2})});
  EXPECT_EQ(list_floats(y), (Floats{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(list<int64_t>(TestNode{"Transpose"}.run({longs({2, 2}, {1, 2, 3, 4})})), (Ints{1, 3, 2, 4}));
  EXPECT_THROW((TestNode{"Transpose", {{"perm", Ints{0, 0}}}}.run({counting({2, 3})})), Error);
}

TEST(EvalMove, Concat) {
  const TestNode node{"Concat", {{"axis", int64_t{1}}}};
  const Tensor y = node.run({floats({2, 1}, {1, 2}), floats({2, 2}, {3, 4, 5, 6}), floats({2, 0}, {})});
  EXPECT_EQ(y.shape, (Shape{2, 3}));
  EXPECT_EQ(list_floats(y), (Floats{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(list<int64_t>(TestNode{"Concat", {{"axis", int64_t{-1}}}}.run({longs({1}, {4}), longs({2}, {5, 6})})), (Ints{4, 5, 6}));
  EXPECT_THROW(node.run({floats({2, 1}, {1, 2}), floats({1, 1}, {3})}), Error);
}

TEST(EvalMove, SplitInItsThreeForms) {
  const Tensor x = counting({2, 4});
  const auto equal = TestNode{"Split", {{"axis", int64_t{1}}}, 17, 2}.run_all({x});
  EXPECT_EQ(list_floats(equal[0]), (Floats{0, 1, 4, 5}));
  EXPECT_EQ(list_floats(equal[1]), (Floats{2, 3, 6, 7}));
  const auto given = TestNode{"Split", {{"axis", int64_t{1}}}, 17, 2}.run_all({x, longs({2}, {3, 1})});
  EXPECT_EQ(list_floats(given[1]), (Floats{3, 7}));
  const auto old = TestNode{"Split", {{"axis", int64_t{1}}, {"split", Ints{1, 3}}}, 11, 2}.run_all({x});
  EXPECT_EQ(list_floats(old[0]), (Floats{0, 4}));
  const auto uneven = TestNode{"Split", {{"axis", int64_t{1}}, {"num_outputs", int64_t{3}}}, 18, 3}.run_all({counting({1, 5})});
  EXPECT_EQ(list_floats(uneven[2]), (Floats{4}));
  const auto empty_last = TestNode{"Split", {{"axis", int64_t{1}}, {"num_outputs", int64_t{4}}}, 18, 4}.run_all({counting({1, 5})});
  EXPECT_EQ(list_floats(empty_last[2]), (Floats{4}));
  EXPECT_EQ(empty_last[3].shape, (Shape{1, 0}));
  EXPECT_THROW((TestNode{"Split", {{"axis", int64_t{1}}}, 17, 2}.run_all({x, longs({2}, {3, 2})})), Error);
}

Floats sliced(Ints starts, Ints ends, Ints axes, Ints steps) {
  const auto vector = [](const Ints& values) { return longs({static_cast<int64_t>(values.size())}, values); };
  return list_floats(TestNode{"Slice"}.run({counting({3, 4}), vector(starts), vector(ends), vector(axes), vector(steps)}));
}

TEST(EvalMove, Slice) {
  const int64_t far = std::numeric_limits<int64_t>::max(), back = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(sliced({1}, {3}, {1}, {1}), (Floats{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(sliced({0, 1}, {far, far}, {0, 1}, {2, 2}), (Floats{1, 3, 9, 11}));
  EXPECT_EQ(sliced({-1}, {back}, {1}, {-2}), (Floats{3, 1, 7, 5, 11, 9}));
  EXPECT_EQ(sliced({-1}, {-3}, {0}, {-1}), (Floats{8, 9, 10, 11, 4, 5, 6, 7}));
  EXPECT_EQ(sliced({3}, {1}, {1}, {1}), (Floats{}));
  EXPECT_EQ(sliced({1}, {far}, {1}, {far}), (Floats{1, 5, 9}));
  EXPECT_EQ(sliced({1}, {back}, {1}, {back}), (Floats{1, 5, 9}));
  EXPECT_EQ(sliced({-9}, {-12}, {1}, {-1}), (Floats{0, 4, 8}));  // drawn in to the first
  const TestNode old{"Slice", {{"starts", Ints{1}}, {"ends", Ints{2}}}, 9};
  EXPECT_EQ(list_floats(old.run({counting({3, 2})})), (Floats{2, 3}));
  EXPECT_THROW(sliced({0}, {1}, {0}, {0}), Error);
}

// The contents ask for sizes beyond the memory, and beyond 64 bits.
TEST(EvalMove, ShapesThatCannotBeAreAnError) {
  constexpr int64_t many = int64_t{1} << 40;
  const Tensor one = floats({1}, {1});
  for (const int64_t more : {int64_t{2}, many}) {
    EXPECT_THROW(TestNode{"Expand"}.run({one, longs({2}, {many, more})}), Error) << more;
    EXPECT_THROW(TestNode{"ConstantOfShape"}.run({longs({2}, {many, more})}), Error) << more;
    EXPECT_THROW(TestNode{"Tile"}.run({floats({1, 2}, {1, 1}), longs({2}, {many, more})}), Error) << more;
  }
  EXPECT_THROW(TestNode{"OneHot"}.run({longs({2}, {0, 1}), longs({}, {many}), floats({2}, {0, 1})}), Error);
  const TestNode reshape{"Reshape", {{"allowzero", int64_t{1}}}};
  EXPECT_THROW(reshape.run({floats({0}, {}), longs({2}, {int64_t{1} << 32, int64_t{1} << 32})}), Error) << "no values, counted as 2^64";
  EXPECT_EQ(reshape.run({floats({0}, {}), longs({2}, {0, 3})}).shape, (Shape{0, 3}));
}

TEST(EvalMove, ExpandAndWhere) {
  const Tensor y = TestNode{"Expand"}.run({floats({2, 1}, {1, 2}), longs({3}, {2, 1, 3})});
  EXPECT_EQ(y.shape, (Shape{2, 2, 3}));
  EXPECT_EQ(list_floats(y), (Floats{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(TestNode{"Expand"}.run({floats({3, 1}, {1, 2, 3}), longs({1}, {1})}).shape, (Shape{3, 1}));
  const Tensor chosen = TestNode{"Where"}.run({flags({2, 1}, {1, 0}), floats({2}, {1, 2}), floats({}, {9})});
  EXPECT_EQ(list_floats(chosen), (Floats{1, 2, 9, 9}));
}

}  // namespace
}  // namespace deepgap
