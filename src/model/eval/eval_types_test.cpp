// The element types that pointwise operators and reductions take beside float32.
#include "model/eval/half.h"
#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

Tensor cast_to(int64_t type, const Tensor& x) { return TestNode{"Cast", {{"to", type}}}.run({x}); }
Tensor halves(const Floats& values) { return cast_to(10, floats({static_cast<int64_t>(values.size())}, values)); }
Floats numbers(const Tensor& x) { return list_floats(cast_to(1, x)); }
Tensor bytes(const std::vector<int8_t>& values) { return tensor_of<int8_t>(DataType::i8, {static_cast<int64_t>(values.size())}, values); }
Tensor words(const std::vector<uint32_t>& values) {
  return tensor_of<uint32_t>(DataType::u32, {static_cast<int64_t>(values.size())}, values);
}

TEST(EvalTypes, HalvesAreComputedAsFloatsAndRoundedOnce) {
  const Tensor sum = TestNode{"Add"}.run({halves({2048}), halves({1})});
  EXPECT_EQ(sum.type, DataType::f16);
  EXPECT_EQ(numbers(sum), (Floats{2048}));
  // 2049 and then 2050, which rounded in between would be 2048.
  EXPECT_EQ(numbers(TestNode{"Sum"}.run({halves({2048}), halves({1}), halves({1})})), (Floats{2050}));
  EXPECT_EQ(numbers(TestNode{"Mul"}.run({halves({300}), halves({300})})), (Floats{INFINITY}));
  EXPECT_EQ(TestNode{"Less"}.run({halves({1}), halves({2})}).type, DataType::boolean);
  EXPECT_EQ(numbers(TestNode{"ReduceMean"}.run({halves({60000, 60000})})), (Floats{60000}));
}

TEST(EvalTypes, ResultsHaveTheTypeOfTheFirstFloat) {
  EXPECT_EQ(TestNode{"Pow"}.run({floats({1}, {2}), halves({3})}).type, DataType::f32);
  EXPECT_EQ(TestNode{"Pow"}.run({halves({2}), floats({1}, {3})}).type, DataType::f16);
  const auto chosen = TestNode{"TopK", {}, 17, 2}.run_all({halves({1, 5, 3}), longs({1}, {2})});
  EXPECT_EQ(numbers(chosen[0]), (Floats{5, 3}));
  EXPECT_EQ(list<int64_t>(chosen[1]), (Ints{1, 2}));
}

TEST(EvalTypes, WholeNumbersWrapAround) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(list<int64_t>(TestNode{"Add"}.run({longs({1}, {most}), longs({}, {1})})), (Ints{least}));
  EXPECT_EQ(list<int64_t>(TestNode{"Mul"}.run({longs({1}, {most}), longs({}, {2})})), (Ints{-2}));
  EXPECT_EQ(list<int64_t>(TestNode{"Neg"}.run({longs({2}, {least, 5})})), (Ints{least, -5}));
  EXPECT_EQ(list<int64_t>(TestNode{"Abs"}.run({longs({2}, {least, -5})})), (Ints{least, 5}));
  EXPECT_EQ(list<int64_t>(TestNode{"ReduceSum"}.run({longs({2}, {most, 1})})), (Ints{least}));
  EXPECT_EQ(list<int8_t>(TestNode{"Sub"}.run({bytes({-128, 127}), bytes({1, -1})})), (std::vector<int8_t>{127, -128}));
  EXPECT_EQ(list<uint32_t>(TestNode{"Sub"}.run({words({0}), words({1})})), (std::vector<uint32_t>{0xffffffffu}));
  EXPECT_EQ(list<int64_t>(TestNode{"Max"}.run({longs({1}, {most}), longs({1}, {most - 1})})), (Ints{most}));  // not by way of doubles
}

TEST(EvalTypes, RemaindersTakeASign) {
  const Tensor a = longs({4}, {7, -7, 7, -7}), b = longs({4}, {3, 3, -3, -3});
  EXPECT_EQ(list<int64_t>(TestNode{"Mod"}.run({a, b})), (Ints{1, 2, -2, -1}));
  EXPECT_EQ(list<int64_t>(TestNode{"Mod", {{"fmod", int64_t{1}}}}.run({a, b})), (Ints{1, -1, 1, -1}));
  EXPECT_EQ(list_floats(TestNode{"Mod", {{"fmod", int64_t{1}}}}.run({floats({1}, {-7.5}), floats({1}, {2})})), (Floats{-1.5}));
  EXPECT_EQ(list<int64_t>(TestNode{"Mod"}.run({longs({1}, {std::numeric_limits<int64_t>::min()}), longs({1}, {-1})})), (Ints{0}));
  EXPECT_THROW(TestNode{"Mod"}.run({a, longs({}, {0})}), Error);
  EXPECT_THROW(TestNode{"Mod"}.run({floats({1}, {1}), floats({1}, {1})}), Error);
  // Mod takes floats, too, since opset 28: with the sign of the divisor.
  EXPECT_EQ(list_floats(TestNode{"Mod", {}, 28}.run({floats({2}, {-7.5, 7.5}), floats({2}, {2, -2})})), (Floats{0.5, -0.5}));
}

TEST(EvalTypes, Bits) {
  const auto shift = [](const char* direction) { return TestNode{"BitShift", {{"direction", std::string(direction)}}}; };
  EXPECT_EQ(list<uint32_t>(shift("LEFT").run({words({1, 3, 1}), words({4, 31, 32})})), (std::vector<uint32_t>{16, 0x80000000u, 0}));
  EXPECT_EQ(list<uint32_t>(shift("RIGHT").run({words({16, 1}), words({4, 40})})), (std::vector<uint32_t>{1, 0}));
  EXPECT_THROW(shift("UP").run({words({1}), words({1})}), Error);
  // Signed ones since opset 28: the sign fills what a shift to the right leaves, and a shift that is negative or too wide leaves it alone.
  EXPECT_EQ(list<int64_t>(shift("RIGHT").run({longs({4}, {-8, -8, -8, 8}), longs({4}, {1, 64, -1, 64})})), (Ints{-4, -1, -1, 0}));
  EXPECT_EQ(list<int8_t>(shift("LEFT").run({bytes({1, 3, 1}), bytes({7, 7, -1})})), (std::vector<int8_t>{-128, -128, 0}));
  EXPECT_EQ(list<uint32_t>(TestNode{"BitwiseAnd"}.run({words({12}), words({10})})), (std::vector<uint32_t>{8}));
  EXPECT_EQ(list<uint32_t>(TestNode{"BitwiseOr"}.run({words({12}), words({10})})), (std::vector<uint32_t>{14}));
  EXPECT_EQ(list<uint32_t>(TestNode{"BitwiseXor"}.run({words({12}), words({10})})), (std::vector<uint32_t>{6}));
  EXPECT_EQ(list<int8_t>(TestNode{"BitwiseNot"}.run({bytes({0, 5})})), (std::vector<int8_t>{-1, -6}));
}

TEST(EvalTypes, BitsAsAnotherType) {
  EXPECT_EQ(list<int32_t>(TestNode{"BitCast", {{"to", int64_t{6}}}, 26}.run({floats({1}, {1})})), (std::vector<int32_t>{0x3f800000}));
  EXPECT_THROW((TestNode{"BitCast", {{"to", int64_t{7}}}, 26}.run({floats({1}, {1})})), Error);
}

TEST(EvalTypes, Powers) {
  EXPECT_EQ(list<int64_t>(TestNode{"Pow"}.run({longs({2}, {-3, 2}), longs({}, {3})})), (Ints{-27, 8}));
  EXPECT_EQ(list<int64_t>(TestNode{"Pow"}.run({longs({1}, {9}), floats({}, {0.5})})), (Ints{3}));
  EXPECT_EQ(list<double>(TestNode{"Pow"}.run({tensor_of<double>(DataType::f64, {1}, {1.1}), longs({}, {2})})),
            (std::vector<double>{1.1 * 1.1}));
}

TEST(EvalTypes, SignsAndSpecialNumbers) {
  EXPECT_EQ(list_floats(TestNode{"Sign"}.run({floats({3}, {-2, 0, 0.5})})), (Floats{-1, 0, 1}));
  EXPECT_EQ(list<int8_t>(TestNode{"Sign"}.run({bytes({-128, 0, 3})})), (std::vector<int8_t>{-1, 0, 1}));
  const Tensor special = floats({4}, {NAN, INFINITY, -INFINITY, 1});
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(list<uint8_t>(TestNode{"IsNaN"}.run({special})), (Bytes{1, 0, 0, 0}));
  EXPECT_EQ(list<uint8_t>(TestNode{"IsInf"}.run({special})), (Bytes{0, 1, 1, 0}));
  EXPECT_EQ(list<uint8_t>(TestNode{"IsInf", {{"detect_negative", int64_t{0}}}}.run({special})), (Bytes{0, 1, 0, 0}));
  EXPECT_EQ(list<uint8_t>(TestNode{"IsInf", {{"detect_positive", int64_t{0}}}}.run({special})), (Bytes{0, 0, 1, 0}));
  EXPECT_EQ(list<uint8_t>(TestNode{"Xor"}.run({flags({4}, {0, 0, 1, 1}), flags({4}, {0, 1, 0, 1})})), (Bytes{0, 1, 1, 0}));
}

TEST(EvalTypes, Angles) {
  const auto of_half = [](const char* op, float x = 0.5f) { return TestNode{op}.run({floats({1}, {x})}).as<float>()[0]; };
  EXPECT_NEAR(of_half("Sin"), 0.479425538604203, 3e-8);
  EXPECT_NEAR(of_half("Cos"), 0.877582561890373, 3e-8);
  EXPECT_NEAR(of_half("Tan"), 0.546302489843790, 3e-8);
  EXPECT_NEAR(of_half("Asin"), 0.523598775598299, 3e-8);
  EXPECT_NEAR(of_half("Acos"), 1.04719755119660, 6e-8);
  EXPECT_NEAR(of_half("Atan"), 0.463647609000806, 3e-8);
  EXPECT_NEAR(of_half("Sinh"), 0.521095305493747, 3e-8);
  EXPECT_NEAR(of_half("Cosh"), 1.12762596520638, 6e-8);
  EXPECT_NEAR(of_half("Asinh"), 0.481211825059603, 3e-8);
  EXPECT_NEAR(of_half("Acosh", 2), 1.31695789692482, 6e-8);
  EXPECT_NEAR(of_half("Atanh"), 0.549306144334055, 3e-8);
}

TEST(EvalTypes, MeanOfSeveral) {
  EXPECT_EQ(list_floats(TestNode{"Mean"}.run({floats({2}, {1, 2}), floats({1}, {4}), floats({}, {1})})), (Floats{2, 7.0f / 3}));
  EXPECT_THROW(TestNode{"Mean"}.run({longs({1}, {1})}), Error);
}

TEST(EvalTypes, CastLikeTakesTheTypeOfTheOther) {
  EXPECT_EQ(list<int64_t>(TestNode{"CastLike"}.run({floats({2}, {1.5, -1.5}), longs({1}, {0})})), (Ints{1, -1}));
}

}  // namespace
}  // namespace deepgap
