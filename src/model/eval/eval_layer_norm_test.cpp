#include "model/eval/half.h"
#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Floats = std::vector<float>;
const std::map<std::string, Attribute> no_epsilon{{"epsilon", 0.0f}};

TEST(EvalLayerNorm, RowsHaveMeanZeroAndVarianceOne) {
  const TestNode node{"LayerNormalization", no_epsilon, 17, 3};
  const auto results = node.run_all({floats({2, 2}, {1, 3, 10, 30}), floats({2}, {1, 2}), floats({2}, {0, 5})});
  EXPECT_EQ(list_floats(results[0]), (Floats{-1, 7, -1, 7}));
  EXPECT_EQ(results[1].shape, (Shape{2, 1}));
  EXPECT_EQ(list_floats(results[1]), (Floats{2, 20}));
  EXPECT_EQ(list_floats(results[2]), (Floats{1, 0.1f}));
}

TEST(EvalLayerNorm, FromAnAxisOn) {
  const TestNode node{"LayerNormalization", {{"axis", int64_t{1}}, {"epsilon", 0.0f}}};
  const Tensor y = node.run({floats({1, 2, 2}, {1, 1, 3, 3}), floats({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(list_floats(y), (Floats{-1, -2, 3, 4}));
}

TEST(EvalLayerNorm, HalvesAreRoundedOnce) {
  Tensor x = make_tensor(DataType::f16, {1, 2}), scale = make_tensor(DataType::f16, {2});
  writable<Half>(x)[0] = to_half(1), writable<Half>(x)[1] = to_half(3);
  writable<Half>(scale)[0] = writable<Half>(scale)[1] = to_half(2);
  const Tensor y = TestNode{"LayerNormalization", no_epsilon}.run({x, scale});
  ASSERT_EQ(y.type, DataType::f16);
  EXPECT_EQ(to_float(y.as<Half>()[0]), -2);
  EXPECT_EQ(to_float(y.as<Half>()[1]), 2);
}

TEST(EvalInstanceNorm, EachPlaneOfEachImage) {
  const TestNode node{"InstanceNormalization", no_epsilon};
  const Tensor y = node.run({floats({1, 2, 2}, {1, 3, 20, 40}), floats({2}, {1, 2}), floats({2}, {0, 100})});
  EXPECT_EQ(list_floats(y), (Floats{-1, 1, 98, 102}));
}

TEST(EvalGroupNorm, ScalesAGroupBefore21AndAChannelSince) {
  TestNode node{"GroupNormalization", {{"num_groups", int64_t{1}}, {"epsilon", 0.0f}}, 18};
  const Tensor x = floats({1, 2, 1}, {1, 3});
  EXPECT_EQ(list_floats(node.run({x, floats({1}, {2}), floats({1}, {10})})), (Floats{8, 12}));
  node.opset = 21;
  EXPECT_EQ(list_floats(node.run({x, floats({2}, {2, 3}), floats({2}, {10, 20})})), (Floats{8, 23}));
  EXPECT_THROW(node.run({x, floats({1}, {2}), floats({1}, {10})}), Error);
}

TEST(EvalMeanVarianceNorm, OverTheBatchAndThePixels) {
  const Tensor y = TestNode{"MeanVarianceNormalization"}.run({floats({2, 2, 1, 1}, {1, 10, 3, 30})});
  EXPECT_EQ(list_floats(y), (Floats{-1, -1, 1, 1}));
}

TEST(EvalLrn, DividesByItsNeighbours) {
  // A size of 2 covers the channel itself and the one after. The divisor is bias 1 + alpha / size * the sum of their squares.
  const TestNode node{"LRN", {{"size", int64_t{2}}, {"alpha", 2.0f}, {"beta", 1.0f}, {"bias", 1.0f}}};
  EXPECT_EQ(list_floats(node.run({floats({1, 3, 1}, {1, 2, 3})})), (Floats{1 / 6.0f, 2 / 14.0f, 3 / 10.0f}));
}

TEST(EvalLpNorm, ALineHasLengthOne) {
  EXPECT_EQ(list_floats(TestNode{"LpNormalization"}.run({floats({2, 2}, {3, 4, 0, 0})})), (Floats{0.6f, 0.8f, 0, 0}));
  const TestNode columns{"LpNormalization", {{"axis", int64_t{0}}, {"p", int64_t{1}}}};
  EXPECT_EQ(list_floats(columns.run({floats({2, 2}, {1, -2, 3, 2})})), (Floats{0.25f, -0.5f, 0.75f, 0.5f}));
}

}  // namespace
}  // namespace deepgap
