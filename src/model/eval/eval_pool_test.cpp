#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

TEST(EvalPool, MaxWithStride) {
  const TestNode node{"MaxPool", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}};
  const Tensor y = node.run({counting({1, 2, 4, 4})});
  EXPECT_EQ(y.shape, (Shape{1, 2, 2, 2}));
  EXPECT_EQ(list_floats(y), (Floats{5, 7, 13, 15, 21, 23, 29, 31}));
}

TEST(EvalPool, PaddingNeverWins) {
  const TestNode node{"MaxPool", {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}};
  EXPECT_EQ(list_floats(node.run({floats({1, 1, 2, 2}, {-4, -3, -2, -1})})), (Floats{-1}));
}

TEST(EvalPool, MaxDilated) {
  const TestNode node{"MaxPool", {{"kernel_shape", Ints{2}}, {"dilations", Ints{2}}}};
  EXPECT_EQ(list_floats(node.run({floats({1, 1, 5}, {9, 1, 2, 8, 3})})), (Floats{9, 8, 3}));
}

TEST(EvalPool, CeilModeAddsTheTornWindow) {
  TestNode node{"MaxPool", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}};
  EXPECT_EQ(list_floats(node.run({counting({1, 1, 3, 3})})), (Floats{4}));
  node.attributes["ceil_mode"] = int64_t{1};
  EXPECT_EQ(list_floats(node.run({counting({1, 1, 3, 3})})), (Floats{4, 5, 7, 8}));
}

TEST(EvalPool, CeilModeLeavesOutAWindowThatBeginsInThePadding) {
  // Width 3, one pixel of padding on each side, window 1, stride 2: the third window would begin at 3.
  const TestNode node{"MaxPool", {{"kernel_shape", Ints{1}}, {"strides", Ints{2}}, {"pads", Ints{0, 1}}, {"ceil_mode", int64_t{1}}}};
  EXPECT_EQ(list_floats(node.run({floats({1, 1, 4}, {1, 2, 3, 4})})), (Floats{1, 3}));
}

TEST(EvalPool, AverageCountsPaddingOnlyWhenAsked) {
  TestNode node{"AveragePool", {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}}};
  EXPECT_EQ(list_floats(node.run({floats({1, 1, 2, 2}, {4, 8, 12, 16})})), (Floats{4, 6, 8, 10}));
  node.attributes["count_include_pad"] = int64_t{1};
  EXPECT_EQ(list_floats(node.run({floats({1, 1, 2, 2}, {4, 8, 12, 16})})), (Floats{1, 3, 4, 10}));
}

TEST(EvalPool, AverageOfATornWindow) {
  TestNode node{"AveragePool", {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}}};
  EXPECT_EQ(list_floats(node.run({floats({1, 1, 3}, {2, 4, 6})})), (Floats{3, 6}));
  node.attributes["count_include_pad"] = int64_t{1};  // what lies past the padding counts in neither case
  EXPECT_EQ(list_floats(node.run({floats({1, 1, 3}, {2, 4, 6})})), (Floats{3, 6}));
}

TEST(EvalPool, Global) {
  EXPECT_EQ(list_floats(TestNode{"GlobalAveragePool"}.run({counting({1, 2, 2, 3})})), (Floats{2.5, 8.5}));
  EXPECT_EQ(list_floats(TestNode{"GlobalMaxPool"}.run({counting({1, 2, 2, 3})})), (Floats{5, 11}));
  EXPECT_EQ(TestNode{"GlobalAveragePool"}.run({counting({3, 2, 4})}).shape, (Shape{3, 2, 1}));
}

TEST(EvalPool, NanStays) {
  const TestNode node{"MaxPool", {{"kernel_shape", Ints{2}}}};
  EXPECT_TRUE(std::isnan(node.run({floats({1, 1, 2}, {NAN, 1})}).as<float>()[0]));
  EXPECT_TRUE(std::isnan(node.run({floats({1, 1, 2}, {1, NAN})}).as<float>()[0]));
}

// Indices count through the whole input, also in the second plane; the first of equal values wins.
TEST(EvalPool, Indices) {
  const TestNode node{"MaxPool", {{"kernel_shape", Ints{2}}}, 17, 2};
  EXPECT_EQ(list<int64_t>(node.run_all({floats({1, 2, 3}, {1, 2, 0, 5, 5, 6})})[1]), (Ints{1, 1, 3, 5}));
}

TEST(EvalPool, ThreeDimensions) {
  const TestNode node{"MaxPool", {{"kernel_shape", Ints{2, 1, 2}}}};
  const Tensor y = node.run({counting({1, 1, 2, 2, 3})});
  EXPECT_EQ(y.shape, (Shape{1, 1, 1, 2, 2}));
  EXPECT_EQ(list_floats(y), (Floats{7, 8, 10, 11}));
}

TEST(EvalPool, IntegersHaveALargest) {
  const TestNode node{"MaxPool", {{"kernel_shape", Ints{2}}}};
  EXPECT_EQ(list<int8_t>(node.run({tensor_of<int8_t>(DataType::i8, {1, 1, 3}, {-128, -3, -7})})), (std::vector<int8_t>{-3, -3}));
}

TEST(EvalPool, NormsOfWindows) {
  TestNode node{"LpPool", {{"kernel_shape", Ints{2}}}};
  EXPECT_EQ(list_floats(node.run({floats({1, 1, 3}, {3, -4, 0})})), (Floats{5, 4}));
  node.attributes["p"] = int64_t{1};
  EXPECT_EQ(list_floats(node.run({floats({1, 1, 3}, {3, -4, 0})})), (Floats{7, 4}));
  EXPECT_EQ(list_floats(TestNode{"GlobalLpPool"}.run({floats({1, 1, 2}, {3, -4})})), (Floats{5}));
}

}  // namespace
}  // namespace deepgap
