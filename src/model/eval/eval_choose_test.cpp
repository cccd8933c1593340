// ArgMax, ArgMin, TopK, Hardmax and CumSum: what goes along one axis.
#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using Floats = std::vector<float>;
using Attributes = std::map<std::string, Attribute>;

TEST(EvalChoose, ArgMaxAndArgMin) {
  const Tensor x = floats({2, 3}, {1, 3, 3, 5, 4, 4});
  const auto arg = [&](const char* op, Attributes attributes) { return TestNode{op, std::move(attributes)}.run({x}); };
  EXPECT_EQ(list<int64_t>(arg("ArgMax", {{"axis", int64_t{1}}})), (Ints{1, 0}));
  EXPECT_EQ(list<int64_t>(arg("ArgMax", {{"axis", int64_t{-1}}, {"select_last_index", int64_t{1}}})), (Ints{2, 0}));
  EXPECT_EQ(list<int64_t>(arg("ArgMin", {{"axis", int64_t{1}}})), (Ints{0, 1}));
  EXPECT_EQ(list<int64_t>(arg("ArgMin", {{"axis", int64_t{1}}, {"select_last_index", int64_t{1}}})), (Ints{0, 2}));
  EXPECT_EQ(list<int64_t>(arg("ArgMax", {})), (Ints{1, 1, 1}));
  EXPECT_EQ(arg("ArgMax", {}).shape, (Shape{1, 3}));
  EXPECT_EQ(arg("ArgMax", {{"keepdims", int64_t{0}}}).shape, (Shape{3}));
  EXPECT_EQ(list<int64_t>(TestNode{"ArgMax"}.run({longs({3}, {INT64_MAX - 1, INT64_MAX, 0})})), (Ints{1}));
  EXPECT_EQ(list<int64_t>(TestNode{"ArgMax"}.run({floats({3}, {1, NAN, 2})})), (Ints{1}));
  EXPECT_THROW(TestNode{"ArgMax"}.run({floats({0, 2}, {})}), Error);
}

TEST(EvalChoose, TopK) {
  const Tensor x = floats({2, 4}, {1, 4, 2, 4, 8, 7, 6, 5});
  const auto largest = TestNode{"TopK", {}, 17, 2}.run_all({x, longs({1}, {3})});
  EXPECT_EQ(list_floats(largest[0]), (Floats{4, 4, 2, 8, 7, 6}));
  EXPECT_EQ(list<int64_t>(largest[1]), (Ints{1, 3, 2, 0, 1, 2}));  // the first of equal ones
  const auto smallest = TestNode{"TopK", {{"largest", int64_t{0}}, {"axis", int64_t{0}}}, 17, 2}.run_all({x, longs({1}, {1})});
  EXPECT_EQ(list_floats(smallest[0]), (Floats{1, 4, 2, 4}));
  EXPECT_EQ(list<int64_t>(smallest[1]), (Ints{0, 0, 0, 0}));
  const auto old = TestNode{"TopK", {{"k", int64_t{1}}}, 9, 2}.run_all({x});
  EXPECT_EQ(list_floats(old[0]), (Floats{4, 8}));
  EXPECT_EQ((TestNode{"TopK", {}, 17, 2}.run_all({x, longs({1}, {0})})[0].shape), (Shape{2, 0}));
  EXPECT_THROW((TestNode{"TopK", {}, 17, 2}.run_all({x, longs({1}, {5})})), Error);
}

TEST(EvalChoose, HardmaxOfBothOpsets) {
  const Tensor x = floats({1, 2, 2}, {1, 2, 4, 4});
  EXPECT_EQ(list_floats(TestNode{"Hardmax"}.run({x})), (Floats{0, 1, 1, 0}));
  EXPECT_EQ(list_floats(TestNode{"Hardmax", {}, 11}.run({x})), (Floats{0, 0, 1, 0}));
}

TEST(EvalChoose, CumulativeSums) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto sums = [&](int64_t axis, Attributes attributes) {
    return list_floats(TestNode{"CumSum", std::move(attributes)}.run({x, longs({}, {axis})}));
  };
  EXPECT_EQ(sums(1, {}), (Floats{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(sums(-2, {}), (Floats{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(sums(1, {{"exclusive", int64_t{1}}}), (Floats{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(sums(1, {{"reverse", int64_t{1}}}), (Floats{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(sums(1, {{"reverse", int64_t{1}}, {"exclusive", int64_t{1}}}), (Floats{5, 3, 0, 11, 6, 0}));
  EXPECT_EQ(list<int64_t>(TestNode{"CumSum"}.run({longs({2}, {INT64_MAX, 1}), longs({1}, {0})})), (Ints{INT64_MAX, INT64_MIN}));
  EXPECT_EQ(TestNode{"CumSum"}.run({floats({0, 2}, {}), longs({}, {0})}).shape, (Shape{0, 2}));
}

}  // namespace
}  // namespace deepgap
