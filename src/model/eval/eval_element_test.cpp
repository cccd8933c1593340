#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace deepgap {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<uint8_t>;

Floats unary(const std::string& op, const Floats& x, std::map<std::string, Attribute> attributes = {}) {
  return list_floats(TestNode{op, std::move(attributes)}.run({floats({static_cast<int64_t>(x.size())}, x)}));
}

void expect_near(const Floats& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 6e-8 * std::max(1.0, std::fabs(expected[i]))) << i;
}

TEST(EvalElement, ExactOnes) {
  EXPECT_EQ(unary("Relu", {-2, 0, 3}), (Floats{0, 0, 3}));
  EXPECT_EQ(unary("LeakyRelu", {-2, 4}), (Floats{-0.02f, 4}));
  EXPECT_EQ(unary("LeakyRelu", {-2, 4}, {{"alpha", 0.5f}}), (Floats{-1, 4}));
  EXPECT_EQ(unary("HardSigmoid", {-5, 0, 1, 5}, {{"alpha", 0.25f}}), (Floats{0, 0.5, 0.75, 1}));
  EXPECT_EQ(unary("HardSigmoid", {0}), (Floats{0.5}));
  EXPECT_EQ(unary("HardSwish", {-4, 0, 3, 6}), (Floats{0, 0, 3, 6}));
  EXPECT_EQ(unary("Sqrt", {4, 2}), (Floats{2, 1.41421356f}));
  EXPECT_EQ(unary("Abs", {-2, 3}), (Floats{2, 3}));
  EXPECT_EQ(unary("Neg", {-2, 3}), (Floats{2, -3}));
  EXPECT_EQ(unary("Reciprocal", {4}), (Floats{0.25}));
  EXPECT_EQ(unary("Floor", {-1.5, 1.5}), (Floats{-2, 1}));
  EXPECT_EQ(unary("Ceil", {-1.5, 1.5}), (Floats{-1, 2}));
  EXPECT_EQ(unary("Round", {0.5, 1.5, -2.5}), (Floats{0, 2, -2}));
}

TEST(EvalElement, RoundedOnes) {
  expect_near(unary("Sigmoid", {0, 1, -100}), {0.5, 0.7310585786300049, 3.720075976020836e-44});
  expect_near(unary("Tanh", {0, 0.5, 20}), {0, 0.46211715726000973, 1});
  expect_near(unary("Erf", {0, 0.5, -1}), {0, 0.5204998778130465, -0.8427007929497149});
  expect_near(unary("Exp", {0, 1, -1}), {1, 2.718281828459045, 0.36787944117144233});
  expect_near(unary("Log", {1, 10}), {0, 2.302585092994046});
}

TEST(EvalElement, NanStays) {
  EXPECT_TRUE(std::isnan(unary("Relu", {NAN})[0]));
  EXPECT_TRUE(std::isnan(TestNode{"Clip"}.run({floats({1}, {NAN}), floats({}, {0}), floats({}, {6})}).as<float>()[0]));
  EXPECT_TRUE(std::isnan(TestNode{"Max"}.run({floats({1}, {NAN}), floats({1}, {1})}).as<float>()[0]));
  EXPECT_TRUE(std::isnan(TestNode{"Min"}.run({floats({1}, {1}), floats({1}, {NAN})}).as<float>()[0]));
}

TEST(EvalElement, ClipInBothForms) {
  const TestNode old{"Clip", {{"min", 0.0f}, {"max", 6.0f}}, 9};
  EXPECT_EQ(list_floats(old.run({floats({3}, {-1, 3, 9})})), (Floats{0, 3, 6}));
  EXPECT_EQ(list_floats(TestNode{"Clip"}.run({floats({3}, {-1, 3, 9}), floats({}, {0}), floats({}, {6})})), (Floats{0, 3, 6}));
  EXPECT_EQ(list_floats(TestNode{"Clip"}.run({floats({2}, {-1, 9}), Tensor{}, floats({}, {6})})), (Floats{-1, 6}));
  EXPECT_EQ(list<int64_t>(TestNode{"Clip"}.run({longs({2}, {-1, 9}), longs({}, {0})})), (Ints{0, 9}));
}

TEST(EvalElement, ArithmeticBroadcasts) {
  const Tensor row = floats({3}, {1, 2, 3}), column = floats({2, 1}, {10, 20});
  EXPECT_EQ(list_floats(TestNode{"Add"}.run({row, column})), (Floats{11, 12, 13, 21, 22, 23}));
  EXPECT_EQ(list_floats(TestNode{"Sub"}.run({column, row})), (Floats{9, 8, 7, 19, 18, 17}));
  EXPECT_EQ(list_floats(TestNode{"Mul"}.run({row, floats({}, {2})})), (Floats{2, 4, 6}));
  EXPECT_EQ(list_floats(TestNode{"Div"}.run({floats({}, {6}), row})), (Floats{6, 3, 2}));
  const Tensor y = TestNode{"Add"}.run({counting({2, 2, 1, 2}), floats({1, 2, 1, 1}, {100, 200})});
  EXPECT_EQ(list_floats(y), (Floats{100, 101, 202, 203, 104, 105, 206, 207}));
  EXPECT_THROW(TestNode{"Add"}.run({row, floats({2}, {1, 2})}), Error);
  EXPECT_THROW(TestNode{"Add"}.run({row, longs({3}, {1, 2, 3})}), Error);
}

TEST(EvalElement, EmptyTensors) {
  EXPECT_EQ(TestNode{"Add"}.run({floats({0, 3}, {}), floats({3}, {1, 2, 3})}).shape, (Shape{0, 3}));
  EXPECT_EQ(TestNode{"Relu"}.run({floats({0}, {})}).shape, (Shape{0}));
}

TEST(EvalElement, WholeNumbers) {
  EXPECT_EQ(list<int64_t>(TestNode{"Add"}.run({longs({2}, {1, 2}), longs({1}, {5})})), (Ints{6, 7}));
  EXPECT_EQ(list<int64_t>(TestNode{"Div"}.run({longs({2}, {-7, 7}), longs({}, {2})})), (Ints{-3, 3}));
  EXPECT_EQ(list<int64_t>(TestNode{"Mul"}.run({longs({1}, {1 << 20}), longs({1}, {1 << 20})})), (Ints{int64_t{1} << 40}));
  EXPECT_THROW(TestNode{"Div"}.run({longs({1}, {1}), longs({1}, {0})}), Error);
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(list<int64_t>(TestNode{"Div"}.run({longs({1}, {least}), longs({1}, {-1})})), (Ints{least}));
}

TEST(EvalElement, AnyNumberOfInputs) {
  const std::vector<Tensor> three{floats({2}, {1, 5}), floats({2}, {4, 2}), floats({1}, {3})};
  EXPECT_EQ(list_floats(TestNode{"Sum"}.run(three)), (Floats{8, 10}));
  EXPECT_EQ(list_floats(TestNode{"Max"}.run(three)), (Floats{4, 5}));
  EXPECT_EQ(list_floats(TestNode{"Min"}.run(three)), (Floats{1, 2}));
  EXPECT_EQ(list_floats(TestNode{"Sum"}.run({three[0]})), (Floats{1, 5}));
}

TEST(EvalElement, Power) {
  EXPECT_EQ(list_floats(TestNode{"Pow"}.run({floats({3}, {3, -2, 0.5}), floats({}, {2})})), (Floats{9, 4, 0.25}));
  EXPECT_EQ(list_floats(TestNode{"Pow"}.run({floats({2}, {2, 4}), floats({2}, {3, 0.5})})), (Floats{8, 2}));
  EXPECT_EQ(list_floats(TestNode{"Pow"}.run({floats({1}, {2}), longs({1}, {5})})), (Floats{32}));
}

TEST(EvalElement, Comparisons) {
  const std::vector<Tensor> pair{floats({3}, {1, 2, 3}), floats({}, {2})};
  EXPECT_EQ(list<uint8_t>(TestNode{"Equal"}.run(pair)), (Bytes{0, 1, 0}));
  EXPECT_EQ(list<uint8_t>(TestNode{"Less"}.run(pair)), (Bytes{1, 0, 0}));
  EXPECT_EQ(list<uint8_t>(TestNode{"LessOrEqual"}.run(pair)), (Bytes{1, 1, 0}));
  EXPECT_EQ(list<uint8_t>(TestNode{"Greater"}.run(pair)), (Bytes{0, 0, 1}));
  EXPECT_EQ(list<uint8_t>(TestNode{"GreaterOrEqual"}.run(pair)), (Bytes{0, 1, 1}));
  EXPECT_EQ(list<uint8_t>(TestNode{"And"}.run({flags({2}, {1, 1}), flags({2}, {0, 1})})), (Bytes{0, 1}));
  EXPECT_EQ(list<uint8_t>(TestNode{"Or"}.run({flags({2}, {0, 0}), flags({2}, {0, 1})})), (Bytes{0, 1}));
  EXPECT_EQ(list<uint8_t>(TestNode{"Not"}.run({flags({2}, {0, 1})})), (Bytes{1, 0}));
}

TEST(EvalElement, UnalignedInputsAreRead) {
  const auto storage = std::make_shared<std::vector<std::byte>>(16);
  const float value = 3;
  std::copy_n(reinterpret_cast<const std::byte*>(&value), 4, storage->data() + 1);
  const Tensor x{DataType::f32, {1}, std::shared_ptr<const std::byte>(storage, storage->data() + 1)};
  EXPECT_EQ(list_floats(TestNode{"Neg"}.run({x})), (Floats{-3}));
}

}  // namespace
}  // namespace deepgap
