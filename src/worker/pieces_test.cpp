#include "worker/pieces.h"

#include "engine/passes/test_graphs.h"
#include "model/eval/evaluator.h"

#include <gtest/gtest.h>

#include <map>

namespace deepgap {
namespace {

using testing::GraphBuilder;

// x -> Conv -> Relu -> Add(with the Conv's own input through another Conv) -> y
Graph branches() {
  GraphBuilder b;
  const ValueId x = b.input({-1, 4, 6, 6});
  const ValueId left = b.node("Relu", {b.conv(x, 4, 4, 3)});
  return b.finish({b.node("Add", {left, b.conv(x, 4, 4, 1)})});
}

std::vector<std::string> all_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& value : graph.values) names.push_back(value.name);
  return names;
}

TEST(Pieces, EachAnswersTheReferencesValueFromTheReferencesInputs) {
  const Graph graph = branches();
  const Pieces pieces = pieces_of(graph, all_names(graph));
  ASSERT_EQ(pieces.pieces.size(), 3U);
  EXPECT_EQ(pieces.pieces[0].op, "Conv");
  EXPECT_EQ(pieces.pieces[0].output, "Relu_1_out");  // the activation belongs to it
  EXPECT_EQ(pieces.pieces[2].op, "Add");
  EXPECT_FALSE(pieces.pieces[0].quantized);

  std::mt19937 random(3);
  const Tensor sample = testing::random_tensor({1, 4, 6, 6}, random);
  std::map<std::string, Tensor> reference{{"x", sample}};
  evaluate(graph, std::vector<Tensor>{sample},
           [&](ValueId id, const Tensor& tensor) { reference[graph.values[static_cast<size_t>(id)].name] = tensor; });
  std::vector<Tensor> inputs;
  for (const std::string& name : pieces.inputs) inputs.push_back(reference.at(name));
  const auto outputs = evaluate(pieces.graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(testing::sqnr_db(reference.at(pieces.pieces[i].output), outputs[i].as<float>()), 300) << pieces.pieces[i].name;
  }
}

TEST(Pieces, ScalesGoWithTheirNode) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 4, 6, 6});
  const auto scalar = [&](float value) { return b.constant(testing::floats({}, {value})); };
  const auto zero = [&] {
    Tensor tensor = make_tensor(DataType::u8, {});
    writable<uint8_t>(tensor)[0] = 128;
    return b.constant(tensor);
  };
  const auto pair = [&](ValueId id) {
    const ValueId scale = scalar(0.05F), middle = zero();
    return b.node("DequantizeLinear", {b.node("QuantizeLinear", {id, scale, middle}), scale, middle});
  };
  const ValueId first = pair(b.node("Relu", {b.conv(pair(x), 4, 4, 3)}));
  const Graph graph = b.finish({b.conv(first, 4, 4, 1)});
  // The reference has the values of the network without levels.
  const Pieces pieces = pieces_of(graph, {"x", "Relu_3_out", "Conv_6_out"});
  ASSERT_EQ(pieces.pieces.size(), 2U);
  EXPECT_EQ(pieces.pieces[0].output, "Relu_3_out");
  EXPECT_EQ(pieces.pieces[1].output, "Conv_6_out");
  EXPECT_TRUE(pieces.pieces[0].quantized && pieces.pieces[1].quantized);
  EXPECT_FALSE(pieces.pieces[0].quantum || pieces.pieces[1].quantum);  // the reference has no levels
  EXPECT_EQ(pieces.inputs, (std::vector<std::string>{"x", "Relu_3_out"}));
  // x's pair, and the ReLU's twice: behind the first node and before the second.
  EXPECT_EQ(testing::count_ops(pieces.graph, "QuantizeLinear"), 3U);
}

// A quantized file is its own reference: a node that ends in levels answers what they are read as.
TEST(Pieces, OfALevelsReferenceSayItsQuantum) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 4, 6, 6});
  const ValueId scale = b.constant(testing::floats({}, {0.05F}));
  const ValueId zero = b.constant(make_tensor(DataType::u8, {}));
  const ValueId made = b.node("Relu", {b.conv(x, 4, 4, 3)});
  const ValueId read = b.node("DequantizeLinear", {b.node("QuantizeLinear", {made, scale, zero}), scale, zero});
  const Graph graph = b.finish({b.conv(read, 4, 4, 1)});
  const Pieces pieces = pieces_of(graph, all_names(graph));
  ASSERT_EQ(pieces.pieces.size(), 2U);
  EXPECT_EQ(pieces.pieces[0].quantum, 0.05F);
  EXPECT_FALSE(pieces.pieces[1].quantum);  // its values are not levels
}

TEST(Pieces, WhatTheReferenceDoesNotKnowIsLeftOut) {
  const Graph graph = branches();
  const Pieces pieces = pieces_of(graph, {"x", "Relu_1_out"});
  ASSERT_EQ(pieces.pieces.size(), 1U);
  EXPECT_EQ(pieces.pieces[0].output, "Relu_1_out");
}

}  // namespace
}  // namespace deepgap
