#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

TEST(EvalReduce, AxesInBothForms) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(list_floats(TestNode{"ReduceMean", {{"axes", Ints{1}}}}.run({x})), (Floats{1, 4}));
  EXPECT_EQ((TestNode{"ReduceMean", {{"axes", Ints{1}}}}.run({x}).shape), (Shape{2, 1}));
  EXPECT_EQ((TestNode{"ReduceMean", {{"axes", Ints{-1}}, {"keepdims", int64_t{0}}}}.run({x}).shape), (Shape{2}));
  EXPECT_EQ(list_floats(TestNode{"ReduceMean", {}, 18}.run({x, longs({1}, {0})})), (Floats{1.5, 2.5, 3.5}));
  EXPECT_EQ(list_floats(TestNode{"ReduceSum"}.run({x, longs({1}, {0})})), (Floats{3, 5, 7}));
  EXPECT_EQ(list_floats(TestNode{"ReduceSum"}.run({x})), (Floats{15}));
  EXPECT_EQ(TestNode{"ReduceSum"}.run({x}).shape, (Shape{1, 1}));
  EXPECT_EQ(list_floats(TestNode{"ReduceSum", {{"noop_with_empty_axes", int64_t{1}}}}.run({x})), list_floats(x));
  EXPECT_EQ(list_floats(TestNode{"ReduceMax", {{"axes", Ints{0, 1}}}}.run({x})), (Floats{5}));
  EXPECT_EQ(list_floats(TestNode{"ReduceMin", {{"axes", Ints{1}}}}.run({x})), (Floats{0, 3}));
  EXPECT_EQ(list<int64_t>(TestNode{"ReduceProd"}.run({longs({3}, {2, 3, 4})})), (Ints{24}));
  EXPECT_THROW((TestNode{"ReduceMean", {{"axes", Ints{2}}}}.run({x})), Error);
}

TEST(EvalReduce, MiddleAxis) {
  const Tensor y = TestNode{"ReduceSum"}.run({counting({2, 2, 2}), longs({1}, {1})});
  EXPECT_EQ(list_floats(y), (Floats{2, 4, 10, 12}));
}

TEST(EvalReduce, SumsDoNotLoseSmallParts) {
  Floats values(1001, 0x1p-24f);
  values[0] = 1;
  const Tensor y = TestNode{"ReduceSum"}.run({floats({1001}, values)});
  EXPECT_EQ(y.as<float>()[0], static_cast<float>(1 + 1000 * 0x1p-24));
}

TEST(EvalReduce, OtherSums) {
  const Tensor x = floats({2, 2}, {3, -4, 0, 1});
  const auto reduced = [&](const char* op) { return list_floats(TestNode{op, {{"axes", Ints{1}}}}.run({x})); };
  EXPECT_EQ(reduced("ReduceL1"), (Floats{7, 1}));
  EXPECT_EQ(reduced("ReduceL2"), (Floats{5, 1}));
  EXPECT_EQ(reduced("ReduceSumSquare"), (Floats{25, 1}));
  const Tensor logs = floats({2}, {1, 3});
  EXPECT_NEAR(TestNode{"ReduceLogSum"}.run({logs}).as<float>()[0], std::log(4.0), 1e-7);
  EXPECT_NEAR(TestNode{"ReduceLogSumExp"}.run({logs}).as<float>()[0], std::log(std::exp(1.0) + std::exp(3.0)), 3e-7);
  EXPECT_EQ(list_floats(TestNode{"ReduceLogSumExp"}.run({floats({2}, {1000, -INFINITY})})), (Floats{1000}));
  EXPECT_EQ(list_floats(TestNode{"ReduceLogSumExp"}.run({floats({1}, {-INFINITY})})), (Floats{-INFINITY}));
}

TEST(EvalReduce, OverNoAxesEachElementAlone) {
  const Tensor x = floats({2}, {3, -4});
  const auto reduced = [&](const char* op) { return list_floats(TestNode{op, {{"noop_with_empty_axes", int64_t{1}}}, 18}.run({x})); };
  EXPECT_EQ(reduced("ReduceSum"), (Floats{3, -4}));
  EXPECT_EQ(reduced("ReduceL1"), (Floats{3, 4}));
  EXPECT_EQ(reduced("ReduceSumSquare"), (Floats{9, 16}));
}

TEST(EvalReduce, OfNothing) {
  const Tensor nothing = floats({0, 2}, {});
  const auto reduced = [&](const char* op) { return list_floats(TestNode{op, {{"axes", Ints{0}}}}.run({nothing})); };
  EXPECT_EQ(list_floats(TestNode{"ReduceSum"}.run({nothing, longs({1}, {0})})), (Floats{0, 0}));
  EXPECT_EQ(reduced("ReduceProd"), (Floats{1, 1}));
  EXPECT_EQ(reduced("ReduceMax"), (Floats{-INFINITY, -INFINITY}));
  EXPECT_EQ(reduced("ReduceMin"), (Floats{INFINITY, INFINITY}));
  EXPECT_EQ(reduced("ReduceLogSumExp"), (Floats{-INFINITY, -INFINITY}));
  EXPECT_EQ(TestNode{"ReduceSum"}.run({nothing, longs({1}, {1})}).shape, (Shape{0, 1}));
  EXPECT_EQ(list<int64_t>(TestNode{"ReduceMax"}.run({longs({0}, {})})), (Ints{INT64_MIN}));
}

TEST(EvalReduce, WholeNumbers) {
  const Tensor x = tensor_of<int8_t>(DataType::i8, {2}, {-7, 2});
  EXPECT_EQ(list<int8_t>(TestNode{"ReduceMean"}.run({x})), (std::vector<int8_t>{-2}));
  EXPECT_EQ(list<int8_t>(TestNode{"ReduceMin"}.run({x})), (std::vector<int8_t>{-7}));
  EXPECT_EQ(list<int64_t>(TestNode{"ReduceL2"}.run({longs({2}, {3, 4})})), (Ints{5}));
  EXPECT_EQ(list<uint8_t>(TestNode{"ReduceMax", {}, 20}.run({flags({2}, {0, 1})})), (std::vector<uint8_t>{1}));
}

TEST(EvalReduce, NanStays) {
  EXPECT_TRUE(std::isnan(TestNode{"ReduceMax"}.run({floats({3}, {1, NAN, 2})}).as<float>()[0]));
  EXPECT_TRUE(std::isnan(TestNode{"ReduceMin"}.run({floats({3}, {NAN, 1, 2})}).as<float>()[0]));
}

TEST(EvalNormalize, BatchNormalization) {
  const Tensor x = floats({1, 2, 1, 2}, {1, 3, 10, 20});
  const TestNode node{"BatchNormalization", {{"epsilon", 0.0f}}};
  const Tensor y = node.run({x, floats({2}, {2, 1}), floats({2}, {0, 5}), floats({2}, {1, 10}), floats({2}, {4, 25})});
  EXPECT_EQ(list_floats(y), (Floats{0, 2, 5, 7}));
  const TestNode with_epsilon{"BatchNormalization", {{"epsilon", 3.0f}}};
  const Tensor z = with_epsilon.run({floats({1, 1}, {4}), floats({1}, {1}), floats({1}, {0}), floats({1}, {0}), floats({1}, {1})});
  EXPECT_EQ(list_floats(z), (Floats{2}));
  EXPECT_THROW(node.run({x, floats({1}, {2}), floats({2}, {0, 5}), floats({2}, {1, 10}), floats({2}, {4, 25})}), Error);
}

TEST(EvalNormalize, SoftmaxOfBothOpsets) {
  const Tensor x = floats({1, 2, 2}, {0, std::log(3.0f), 0, 0});
  const Tensor now = TestNode{"Softmax"}.run({x});
  EXPECT_NEAR(now.as<float>()[0], 0.25, 1e-7);
  EXPECT_NEAR(now.as<float>()[1], 0.75, 1e-7);
  EXPECT_EQ(now.as<float>()[2], 0.5f);
  const Tensor old = TestNode{"Softmax", {}, 11}.run({x});  // all from axis 1 on is one row: 1 + 3 + 1 + 1
  EXPECT_NEAR(old.as<float>()[0], 1.0 / 6, 1e-7);
  EXPECT_NEAR(old.as<float>()[1], 0.5, 1e-7);
  const Tensor down = TestNode{"Softmax", {{"axis", int64_t{1}}}}.run({x});
  EXPECT_NEAR(down.as<float>()[1], 0.75, 1e-7);
  EXPECT_EQ(down.as<float>()[0], 0.5f);
}

TEST(EvalNormalize, SoftmaxOfLargeNumbers) {
  const Tensor y = TestNode{"Softmax"}.run({floats({1, 2}, {1000, 1000})});
  EXPECT_EQ(list_floats(y), (Floats{0.5, 0.5}));
  const Tensor z = TestNode{"LogSoftmax"}.run({floats({1, 2}, {0, -2000})});
  EXPECT_EQ(list_floats(z), (Floats{0, -2000}));
  EXPECT_NEAR(TestNode{"LogSoftmax"}.run({floats({2}, {5, 5})}).as<float>()[0], -std::log(2.0), 1e-7);
}

}  // namespace
}  // namespace deepgap
