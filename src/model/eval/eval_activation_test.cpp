#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using Floats = std::vector<float>;
using Attributes = std::map<std::string, Attribute>;

Floats activated(const std::string& op, const Floats& x, Attributes attributes = {}) {
  return list_floats(TestNode{op, std::move(attributes), 20}.run({floats({static_cast<int64_t>(x.size())}, x)}));
}

// Expected values: the specification's formula, worked out with 15 digits.
void expect_near(const Floats& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 6e-8 * std::max(1.0, std::fabs(expected[i]))) << i;
}

TEST(EvalActivation, Exponential) {
  expect_near(activated("Elu", {-1, 0, 2}), {-0.632120558828558, 0, 2});
  expect_near(activated("Elu", {-1}, {{"alpha", 2.0f}}), {-1.26424111765712});
  expect_near(activated("Selu", {-1, 2}), {-1.11133072983420, 2.10140204429626});
  expect_near(activated("Celu", {-1, 2}, {{"alpha", 2.0f}}), {-0.786938680574733, 2});
  expect_near(activated("Softplus", {-1, 0, 2, 100, -100}),
              {0.313261687518223, 0.693147180559945, 2.12692801104297, 100, 3.72007597602084e-44});
  expect_near(activated("Mish", {-1, 2}), {-0.303401461374108, 1.94395895953399});
}

TEST(EvalActivation, GeluInBothForms) {
  expect_near(activated("Gelu", {-1, 0, 2}), {-0.158655253931457, 0, 1.95449973610364});
  expect_near(activated("Gelu", {-1, 0, 2}, {{"approximate", std::string("tanh")}}), {-0.158808009391723, 0, 1.95459769409079});
  EXPECT_THROW(activated("Gelu", {1}, {{"approximate", std::string("exactly")}}), Error);
}

TEST(EvalActivation, Exact) {
  EXPECT_EQ(activated("ThresholdedRelu", {0.5, 1, 1.5}), (Floats{0, 0, 1.5}));
  EXPECT_EQ(activated("ThresholdedRelu", {0.5, 1, 1.5}, {{"alpha", 0.25f}}), (Floats{0.5, 1, 1.5}));
  EXPECT_EQ(activated("Softsign", {-1, 0, 3}), (Floats{-0.5, 0, 0.75}));
  EXPECT_EQ(activated("Shrink", {-2, -0.5, 0.5, 2}), (Floats{-2, 0, 0, 2}));
  EXPECT_EQ(activated("Shrink", {-2, -0.5, 0.5, 2}, {{"lambd", 1.0f}, {"bias", 0.5f}}), (Floats{-1.5, 0, 0, 1.5}));
}

TEST(EvalActivation, SlopesAreBroadcast) {
  const TestNode p_relu{"PRelu"};
  EXPECT_EQ(list_floats(p_relu.run({floats({1, 2, 2}, {-1, 2, -3, 4}), floats({2, 1}, {0.5, 2})})), (Floats{-0.5, 2, -6, 4}));
  EXPECT_EQ(list<int64_t>(p_relu.run({longs({2}, {-3, 3}), longs({}, {2})})), (Ints{-6, 3}));
  EXPECT_THROW(p_relu.run({floats({2}, {1, 2}), floats({2, 1}, {0.5, 2})}), Error);
}

TEST(EvalActivation, NanStays) {
  for (const char* op : {"Relu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "HardSwish", "Elu", "Selu", "Celu", "Softplus", "Softsign",
                         "Mish", "Gelu", "Sigmoid", "Tanh"})
    EXPECT_TRUE(std::isnan(activated(op, {NAN})[0])) << op;
}

TEST(EvalActivation, InDoubles) {
  const Tensor x = tensor_of<double>(DataType::f64, {2}, {-1, 2});
  EXPECT_NEAR(TestNode{"Sigmoid"}.run({x}).as<double>()[0], 0.268941421369995, 1e-15);
  EXPECT_NEAR((TestNode{"Gelu", {}, 20}.run({x}).as<double>()[1]), 1.95449973610364, 1e-14);
  EXPECT_EQ(list<double>(TestNode{"HardSwish"}.run({x}))[0], -(-1.0 / 6.0 + 0.5));
}

}  // namespace
}  // namespace deepgap
