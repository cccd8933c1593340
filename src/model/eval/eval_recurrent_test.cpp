#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using Floats = std::vector<float>;
using Names = std::vector<std::string>;
// Sums become visible: f(x) = x.
const std::map<std::string, Attribute> linear{{"activations", Names{"Affine"}}};

Tensor lengths(const std::vector<int32_t>& values) { return tensor_of(DataType::i32, {static_cast<int64_t>(values.size())}, values); }

TEST(EvalRnn, AddsInputStateAndBiases) {
  const TestNode node{"RNN", linear, 17, 2};
  // h = 2 x + 10 h + 1 + 1
  const auto results =
      node.run_all({floats({3, 1, 1}, {1, 0, 1}), floats({1, 1, 1}, {2}), floats({1, 1, 1}, {10}), floats({1, 2}, {1, 1})});
  EXPECT_EQ(results[0].shape, (Shape{3, 1, 1, 1}));
  EXPECT_EQ(list_floats(results[0]), (Floats{4, 42, 424}));
  EXPECT_EQ(list_floats(results[1]), (Floats{424}));
}

TEST(EvalRnn, BothDirectionsAndLengths) {
  const TestNode node{"RNN", {{"activations", Names{"Affine", "Affine"}}, {"direction", std::string("bidirectional")}}, 17, 2};
  // h = x + 10 h in both directions; the second sequence has one element.
  const auto results =
      node.run_all({floats({2, 2, 1}, {1, 3, 2, 9}), floats({2, 1, 1}, {1, 1}), floats({2, 1, 1}, {10, 10}), Tensor{}, lengths({2, 1})});
  EXPECT_EQ(list_floats(results[0]), (Floats{1, 3, 21, 3, 12, 0, 2, 0}));  // [time, direction, batch]
  EXPECT_EQ(list_floats(results[1]), (Floats{12, 3, 21, 3}));
}

TEST(EvalRnn, BatchFirst) {
  auto attributes = linear;
  attributes["layout"] = int64_t{1};
  const auto results = TestNode{"RNN", attributes, 17, 2}.run_all(
      {floats({2, 2, 1}, {1, 2, 3, 4}), floats({1, 1, 1}, {1}), floats({1, 1, 1}, {10}), Tensor{}, Tensor{}, floats({2, 1, 1}, {0, 1})});
  EXPECT_EQ(results[0].shape, (Shape{2, 2, 1, 1}));
  EXPECT_EQ(list_floats(results[0]), (Floats{1, 12, 13, 134}));
}

TEST(EvalRnn, ClipsWhatItsActivationsTake) {
  auto attributes = linear;
  attributes["clip"] = 5.0f;
  EXPECT_EQ(list_floats(TestNode{"RNN", attributes}.run({floats({1, 1, 1}, {7}), floats({1, 1, 1}, {-1}), floats({1, 1, 1}, {0})})),
            (Floats{-5}));
}

TEST(EvalLstm, GatesInTheirOrder) {
  // Activations f(x) = x: input, output, forget and cell gates are 2, 3, 5, 7 times x; x = 1, c before 10.
  const TestNode node{"LSTM", {{"activations", Names{"Affine", "Affine", "Affine"}}}, 17, 3};
  const Tensor one = floats({1, 1, 1}, {1}), r = floats({1, 4, 1}, {0, 0, 0, 0});
  const auto results = node.run_all({one, floats({1, 4, 1}, {2, 3, 5, 7}), r, Tensor{}, Tensor{}, one, floats({1, 1, 1}, {10})});
  EXPECT_EQ(list_floats(results[2]), (Floats{64}));   // 5 * 10 + 2 * 7
  EXPECT_EQ(list_floats(results[1]), (Floats{192}));  // 3 * 64
}

TEST(EvalLstm, ClipsTheGatesAndNotTheState) {
  const TestNode node{"LSTM", {{"activations", Names{"Affine", "Affine", "Affine"}}, {"clip", 4.0f}}, 17, 3};
  const Tensor one = floats({1, 1, 1}, {1}), r = floats({1, 4, 1}, {0, 0, 0, 0});
  const auto results = node.run_all({one, floats({1, 4, 1}, {2, 3, 5, 7}), r, Tensor{}, Tensor{}, one, floats({1, 1, 1}, {10})});
  EXPECT_EQ(list_floats(results[2]), (Floats{48}));   // 4 * 10 + 2 * 4
  EXPECT_EQ(list_floats(results[1]), (Floats{144}));  // 3 * 48
}

TEST(EvalLstm, PeepholesAndCoupledGates) {
  TestNode node{"LSTM", {{"activations", Names{"Affine", "Affine", "Affine"}}}, 17, 3};
  const Tensor one = floats({1, 1, 1}, {1}), r = floats({1, 4, 1}, {0, 0, 0, 0}), w = floats({1, 4, 1}, {2, 3, 5, 7});
  const std::vector<Tensor> inputs{one, w, r, Tensor{}, Tensor{}, one, floats({1, 1, 1}, {10}), floats({1, 3}, {1, 2, 3})};
  // input 2 + 1 * 10, forget 5 + 3 * 10, c = 35 * 10 + 12 * 7, output 3 + 2 * c
  EXPECT_EQ(list_floats(node.run_all(inputs)[2]), (Floats{434}));
  EXPECT_EQ(list_floats(node.run_all(inputs)[1]), (Floats{871 * 434}));
  node.attributes["input_forget"] = int64_t{1};
  EXPECT_EQ(list_floats(node.run_all(inputs)[2]), (Floats{-26}));  // (1 - 12) * 10 + 12 * 7
}

TEST(EvalLstm, DefaultsAreSigmoidAndTanh) {
  const TestNode node{"LSTM", {}, 17, 3};
  const auto results = node.run_all({floats({1, 1, 1}, {1}), floats({1, 4, 1}, {1, 1, 1, 1}), floats({1, 4, 1}, {0, 0, 0, 0})});
  const float gate = 1 / (1 + std::exp(-1.0f)), c = gate * std::tanh(1.0f);
  EXPECT_FLOAT_EQ(results[2].as<float>()[0], c);
  EXPECT_FLOAT_EQ(results[1].as<float>()[0], gate * std::tanh(c));
}

TEST(EvalGru, ResetsBeforeOrAfterTheProduct) {
  TestNode node{"GRU", {{"activations", Names{"Affine", "Affine"}}}, 17, 2};
  // x = 1, h = 10: update 0.5, reset 2, candidate from 3 x, its recurrence weight 4 and bias 1.
  const std::vector<Tensor> inputs{
      floats({1, 1, 1}, {1}), floats({1, 3, 1}, {0.5f, 2, 3}), floats({1, 3, 1}, {0, 0, 4}), floats({1, 6}, {0, 0, 0, 0, 0, 1}), Tensor{},
      floats({1, 1, 1}, {10})};
  // 0.5 * (3 + (2 * 10) * 4 + 1) + 0.5 * 10
  EXPECT_EQ(list_floats(node.run_all(inputs)[1]), (Floats{47}));
  node.attributes["linear_before_reset"] = int64_t{1};
  EXPECT_EQ(list_floats(node.run_all(inputs)[1]), (Floats{47.5f}));  // 0.5 * (3 + 2 * (10 * 4 + 1)) + 0.5 * 10
}

TEST(EvalRecurrent, ContradictionsAreNamed) {
  const Tensor x = floats({1, 1, 1}, {1}), w = floats({1, 1, 1}, {1});
  EXPECT_THROW(TestNode{"LSTM"}.run({x, w, w}), Error);
  EXPECT_THROW(TestNode{"RNN"}.run({x, w, w, Tensor{}, lengths({2})}), Error);
  EXPECT_THROW((TestNode{"RNN", {{"activations", Names{"Sine"}}}}.run({x, w, w})), Error);
}

}  // namespace
}  // namespace deepgap
