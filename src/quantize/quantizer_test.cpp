#include "quantize/quantizer.h"

#include "base/test_error.h"
#include "engine/passes/test_graphs.h"
#include "model/eval/evaluator.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>

namespace deepgap {
namespace {

using testing::count_ops;
using testing::GraphBuilder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Conv, BatchNorm, ReLU, MaxPool, two branches that meet in an addition, pooling and a classifier: what residual networks are made of.
Graph small_network() {
  GraphBuilder b;
  const ValueId x = b.input({-1, 3, 16, 16});
  ValueId stem = b.node("Relu", {b.batch_norm(b.conv(x, 3, 8, 3), 8)});
  stem = b.node("MaxPool", {stem}, {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  const ValueId left = b.conv(b.node("Relu", {b.conv(stem, 8, 8, 3)}), 8, 8, 1);
  const ValueId sum = b.node("Relu", {b.node("Add", {left, stem})});
  const ValueId pooled = b.node("Flatten", {b.node("GlobalAveragePool", {sum})});
  return b.finish({b.node("Gemm", {pooled, b.weights({10, 8}), b.weights({10})}, {{"transB", int64_t{1}}})});
}

std::vector<Tensor> pictures(size_t count) {
  std::mt19937 random(7);
  std::vector<Tensor> samples;
  for (size_t i = 0; i < count; ++i) samples.push_back(testing::random_tensor({1, 3, 16, 16}, random));
  return samples;
}

// Judges as the worker does, with the reference interpreter as the engine.
Quantizer judged(const Graph& graph, const QuantizeSettings& settings, const std::vector<Tensor>& samples) {
  Quantizer quantizer(graph, settings);
  std::vector<Activations> reference;
  for (const Tensor& sample : samples) {
    const std::vector<Tensor> outputs = evaluate(quantizer.observing_graph(), std::vector<Tensor>{sample});
    std::vector<TensorView> views;
    for (const Tensor& output : outputs) views.push_back(output.view());
    const TensorView input = sample.view();
    quantizer.observe("s", std::span(&input, 1), views);
    reference.push_back(quantizer.activations(std::span(&input, 1), views));
  }
  quantizer.use_ranges(quantizer.ranges());
  if (quantizer.judges()) {
    UnitProbe probe = quantizer.probe();
    for (const Activations& sample : reference) {
      const std::vector<Tensor> outputs = evaluate(probe.graph(), probe.inputs(sample));
      std::vector<TensorView> views;
      for (const Tensor& output : outputs) views.push_back(output.view());
      probe.compare(sample, views);
    }
    quantizer.judge(probe);
  }
  return quantizer;
}

QuantizedGraph quantized(const Graph& graph, const QuantizeSettings& settings, const std::vector<Tensor>& samples) {
  return judged(graph, settings, samples).quantize();
}

double agreement_db(const Graph& graph, const Graph& other) {
  const Tensor sample = pictures(1)[0];
  const Tensor expected = evaluate(graph, std::vector<Tensor>{sample})[0];
  return testing::sqnr_db(expected, evaluate(other, std::vector<Tensor>{sample})[0].as<float>());
}

TEST(Quantizer, TheNetworkInLevelsIsNearTheNetwork) {
  const Graph graph = small_network();
  for (const char* method : {"minmax", "percentile", "entropy"}) {
    for (const char* activations : {"u8", "s8"}) {
      QuantizeSettings settings;
      settings.method = method;
      settings.percentile = 99.9;
      settings.activations = activations;
      settings.keep = "none";
      const QuantizedGraph result = quantized(graph, settings, pictures(4));
      EXPECT_GT(agreement_db(graph, result.graph), 20) << method << " " << activations;
      EXPECT_EQ(result.int8_mac_share, 1);
      EXPECT_TRUE(result.kept.empty());
    }
  }
}

TEST(Quantizer, WhatEnginesFuseIsThere) {
  const QuantizedGraph result = quantized(small_network(), {.keep = "none"}, pictures(2));
  EXPECT_EQ(count_ops(result.graph, "BatchNormalization"), 0U);
  // Input, three ReLUs, MaxPool, the second branch's convolution, pooling and Flatten have a pair each; the classifier answers in FP32.
  EXPECT_EQ(count_ops(result.graph, "QuantizeLinear"), 8U);
  // There are the same eight, and four weights with their biases.
  EXPECT_EQ(count_ops(result.graph, "DequantizeLinear"), 16U);
  EXPECT_EQ(result.graph.nodes.back().op, "Gemm");
  // No ReLU stands before a QuantizeLinear that is not its own, and both sides of MaxPool have one scale.
  std::map<std::string, float> scales;
  for (const Node& node : result.graph.nodes) {
    if (node.op == "QuantizeLinear") scales[node.name] = result.graph.constants.at(node.inputs[1]).as<float>()[0];
  }
  EXPECT_EQ(scales.at("Relu_2_out_QuantizeLinear"), scales.at("MaxPool_3_out_QuantizeLinear"));
}

// Gelu is an operator from opset 20 on; engines put it together for themselves.
TEST(Quantizer, WhatAnExporterWroteOutStaysWrittenOut) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 3, 16, 16}), y = b.conv(x, 3, 8, 3);
  const auto number = [&](float value) { return b.constant(testing::floats({}, {value})); };
  const ValueId erf = b.node("Erf", {b.node("Div", {y, number(std::numbers::sqrt2_v<float>)})});
  const ValueId gelu = b.node("Mul", {b.node("Mul", {y, b.node("Add", {erf, number(1)})}), number(0.5F)});
  const QuantizedGraph result = quantized(b.finish({b.conv(gelu, 8, 4, 1)}), {.keep = "none"}, pictures(2));
  EXPECT_EQ(count_ops(result.graph, "Erf"), 1U);
  EXPECT_EQ(count_ops(result.graph, "Gelu"), 0U);
  EXPECT_EQ(result.int8_mac_share, 1);
}

// Only the run knows how much a detector keeps: the convolutions before it are quantized all the same.
TEST(Quantizer, WhatTheDataSizeIsLeftAlone) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 3, 16, 16});
  const ValueId scores = b.node("Relu", {b.conv(x, 3, 4, 3)});
  const ValueId found = b.node("NonZero", {scores});
  const ValueId places = b.node("Transpose", {b.node("Cast", {found}, {{"to", int64_t{1}}})}, {{"perm", std::vector<int64_t>{1, 0}}});
  const QuantizedGraph result = quantized(b.finish({b.conv(scores, 4, 2, 1), places}), {.keep = "none"}, pictures(2));
  EXPECT_EQ(result.quantized_nodes, 2);
  EXPECT_EQ(result.int8_mac_share, 1);
}

TEST(Quantizer, TheFileReadsBackTheSame) {
  const QuantizedGraph result = quantized(small_network(), {}, pictures(2));
  const std::string file = write_onnx(result.graph);
  const Graph read = parse_onnx(std::as_bytes(std::span(file)), "q", "");
  EXPECT_GT(agreement_db(result.graph, read), 200);
}

TEST(Quantizer, NamedNodesStayInFp32) {
  const Graph graph = small_network();
  const QuantizedGraph result = quantized(graph, {.keep = "Conv_4"}, pictures(2));
  ASSERT_EQ(result.kept.size(), 1U);
  EXPECT_EQ(result.kept[0].name, "Conv_4");
  EXPECT_LT(result.int8_mac_share, 1);
  for (const Node& node : result.graph.nodes) {
    if (node.name != "Conv_4") continue;
    EXPECT_EQ(result.graph.constants.at(node.inputs[1]).type, DataType::f32);
  }
  try {
    Quantizer(graph, {.keep = "Conv_4,Conv_44"});
    FAIL() << "an unknown name was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("unknown node to keep 'Conv_44', did you mean 'Conv_4'?"));
  }
}

TEST(Quantizer, ANodeThatLevelsSpoilIsKeptByItself) {
  // One channel of the second convolution's input is a thousand times larger than the others: with one scale for the tensor the others are
  // lost.
  GraphBuilder b;
  const ValueId x = b.input({-1, 3, 16, 16});
  Tensor weights = testing::random_tensor({8, 3, 3, 3}, b.random);
  for (size_t i = 0; i < 27; ++i) writable<float>(weights)[i] *= 3000;
  const ValueId first = b.node("Conv", {x, b.constant(weights)}, {{"kernel_shape", std::vector<int64_t>{3, 3}}});
  Tensor second = testing::random_tensor({4, 8, 1, 1}, b.random);
  for (size_t c = 0; c < 4; ++c) writable<float>(second)[c * 8] = 0;  // and the next layer does not look at that channel
  const Graph graph = b.finish({b.node("Conv", {first, b.constant(second)}, {{"kernel_shape", std::vector<int64_t>{1, 1}}})});
  const QuantizedGraph result = quantized(graph, {}, pictures(2));
  ASSERT_EQ(result.kept.size(), 1U);
  EXPECT_EQ(result.kept[0].name, "Conv_1");
  EXPECT_THAT(result.kept[0].reason, HasSubstr("SQNR"));
}

TEST(Quantizer, OneNodeStandsAloneAndIsKeptAndReleased) {
  Quantizer quantizer = judged(small_network(), {}, pictures(2));
  const std::vector<size_t> all = quantizer.quantized();
  ASSERT_GT(all.size(), 1U);
  const auto alone = quantizer.only(all[0]);
  ASSERT_TRUE(alone);
  const auto pairs = [](const Graph& graph) { return std::ranges::count(graph.nodes, "QuantizeLinear", &Node::op); };
  const int64_t whole = pairs(quantizer.quantize().graph);
  EXPECT_GT(pairs(*alone), 0);
  EXPECT_LT(pairs(*alone), whole);
  quantizer.keep(all[0], "why not");
  const QuantizedGraph without = quantizer.quantize();
  ASSERT_GE(without.kept.size(), 1U);
  EXPECT_EQ(without.kept[0].name, quantizer.prepared().nodes[all[0]].name);
  EXPECT_EQ(without.kept[0].reason, "why not");
  EXPECT_FALSE(std::ranges::count(quantizer.quantized(), all[0]));
  quantizer.release(all[0]);
  EXPECT_EQ(quantizer.quantized(), all);
  EXPECT_EQ(pairs(quantizer.quantize().graph), whole);
}

TEST(Quantizer, WhatCannotBeQuantizedIsSaid) {
  const auto refusal = [](const Graph& graph) -> std::string {
    try {
      Quantizer(graph, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  const QuantizedGraph once = quantized(small_network(), {}, pictures(1));
  EXPECT_THAT(refusal(once.graph), HasSubstr("is quantized already (operator 'QuantizeLinear'"));
  Graph old = small_network();
  old.opset = 9;
  EXPECT_THAT(refusal(old), HasSubstr("opset 9: scales per channel need opset 13"));
  EXPECT_THAT(error_of([&] { Quantizer(old, {}, "exported.onnx"); }, ErrorKind::input), StartsWith("exported.onnx has opset 9"))
      << "a file is named, not the graph inside it";
  EXPECT_THAT(error_of([&] { Quantizer(once.graph, {}, "made.onnx"); }, ErrorKind::input), StartsWith("made.onnx is quantized already"));
  old.opset = 12;
  EXPECT_EQ(refusal(old), "taken");
}

TEST(Quantizer, NaNInASampleIsNamed) {
  Quantizer quantizer(small_network(), {});
  Tensor sample = pictures(1)[0];
  writable<float>(sample)[5] = NAN;
  const TensorView view = sample.view();
  try {
    quantizer.observe("cat.png", std::span(&view, 1), {});
    FAIL() << "NaN was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("calibration sample 'cat.png': 'x' is not finite there"));
  }
}

}  // namespace
}  // namespace deepgap
