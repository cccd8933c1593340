#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Floats = std::vector<float>;

const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
const Tensor b = floats({3, 2}, {1, 0, 0, 1, 1, 1});
const Floats product{4, 5, 10, 11};

TEST(EvalLinear, GemmInAllTurns) {
  const Tensor a_turned = floats({3, 2}, {1, 4, 2, 5, 3, 6}), b_turned = floats({2, 3}, {1, 0, 1, 0, 1, 1});
  EXPECT_EQ(list_floats(TestNode{"Gemm"}.run({a, b})), product);
  EXPECT_EQ(list_floats(TestNode{"Gemm", {{"transA", int64_t{1}}}}.run({a_turned, b})), product);
  EXPECT_EQ(list_floats(TestNode{"Gemm", {{"transB", int64_t{1}}}}.run({a, b_turned})), product);
  EXPECT_EQ(list_floats(TestNode{"Gemm", {{"transA", int64_t{1}}, {"transB", int64_t{1}}}}.run({a_turned, b_turned})), product);
}

TEST(EvalLinear, GemmScalesAndAdds) {
  const TestNode node{"Gemm", {{"alpha", 2.0f}, {"beta", 10.0f}}};
  EXPECT_EQ(list_floats(node.run({a, b, floats({2}, {1, 2})})), (Floats{18, 30, 30, 42}));
  EXPECT_EQ(list_floats(node.run({a, b, floats({2, 1}, {1, 2})})), (Floats{18, 20, 40, 42}));
  EXPECT_EQ(list_floats(node.run({a, b, floats({}, {1})})), (Floats{18, 20, 30, 32}));
  EXPECT_THROW(node.run({a, b, floats({3}, {1, 2, 3})}), Error);
  EXPECT_THROW(node.run({a, a}), Error);
}

TEST(EvalLinear, MatMulOfEveryRank) {
  EXPECT_EQ(list_floats(TestNode{"MatMul"}.run({a, b})), product);
  const Tensor vector = floats({3}, {1, 10, 100});
  EXPECT_EQ(TestNode{"MatMul"}.run({a, vector}).shape, (Shape{2}));
  EXPECT_EQ(list_floats(TestNode{"MatMul"}.run({a, vector})), (Floats{321, 654}));
  EXPECT_EQ(list_floats(TestNode{"MatMul"}.run({floats({2}, {1, 10}), a})), (Floats{41, 52, 63}));
  const Tensor dot = TestNode{"MatMul"}.run({vector, vector});
  EXPECT_EQ(dot.shape, Shape{});
  EXPECT_EQ(list_floats(dot), (Floats{10101}));
  EXPECT_THROW(TestNode{"MatMul"}.run({a, a}), Error);
}

TEST(EvalLinear, MatMulBroadcastsBatches) {
  const Tensor x = counting({2, 1, 1, 2});  // [0 1] and [2 3]
  const Tensor y = floats({3, 2, 1}, {1, 1, 1, 10, 0, 5});
  const Tensor z = TestNode{"MatMul"}.run({x, y});
  EXPECT_EQ(z.shape, (Shape{2, 3, 1, 1}));
  EXPECT_EQ(list_floats(z), (Floats{1, 10, 5, 5, 32, 15}));
  EXPECT_EQ(list_floats(TestNode{"MatMul"}.run({floats({2, 1, 3}, {1, 2, 3, 4, 5, 6}), b})), product);
}

TEST(EvalLinear, SizesAroundTheTiles) {
  for (int64_t rows : {1, 5, 12, 13, 97})
    for (int64_t columns : {1, 31, 32, 129})
      for (int64_t depth : {1, 256, 257}) {
        Tensor x = make_tensor(DataType::f32, {rows, depth}), y = make_tensor(DataType::f32, {depth, columns});
        for (int64_t i = 0; i < rows * depth; ++i) writable<float>(x)[i] = static_cast<float>(i * 7 % 11 - 5);
        for (int64_t i = 0; i < depth * columns; ++i) writable<float>(y)[i] = static_cast<float>(i * 5 % 13 - 6);
        const Tensor z = TestNode{"MatMul"}.run({x, y});
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c) {
            double sum = 0;
            for (int64_t k = 0; k < depth; ++k) sum += x.as<float>()[r * depth + k] * y.as<float>()[k * columns + c];
            ASSERT_EQ(z.as<float>()[r * columns + c], sum) << rows << " " << columns << " " << depth << " at " << r << " " << c;
          }
      }
}

TEST(EvalMatMul, DoublesAndIntegersThatWrap) {
  const TestNode node{"MatMul"};
  const auto doubles = [](Shape shape, std::vector<double> values) { return tensor_of(DataType::f64, std::move(shape), values); };
  EXPECT_EQ(list<double>(node.run({doubles({1, 2}, {1, 1e-12}), doubles({2, 1}, {1, 1})})), (std::vector<double>{1 + 1e-12}));
  const int64_t large = INT64_MAX;
  EXPECT_EQ(list<int64_t>(node.run({longs({2}, {large, 1}), longs({2}, {1, 1})})), (std::vector<int64_t>{INT64_MIN}));
}

TEST(EvalGemm, Doubles) {
  const TestNode node{"Gemm", {{"transA", int64_t{1}}, {"alpha", 2.0f}, {"beta", 3.0f}}};
  const auto doubles = [](Shape shape, std::vector<double> values) { return tensor_of(DataType::f64, std::move(shape), values); };
  const Tensor y = node.run({doubles({2, 1}, {1, 2}), doubles({2, 2}, {1, 2, 3, 4}), doubles({2}, {1, 1})});
  EXPECT_EQ(list<double>(y), (std::vector<double>{17, 23}));
}

}  // namespace
}  // namespace deepgap
