#include "model/layer_work.h"

#include "model/graph_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::ElementsAre;

// Pictures of 4 x 8 x 8, kernels of 3 x 3 from 4 to 4 channels: 256 elements, 144 weights, 9216 multiply-accumulates.
constexpr int64_t elements = 256, weights = 144, macs = 9216;

struct Net {
  Graph graph;

  Net() { graph.opset = 17; }
  ValueId value(const std::string& name, const Shape& shape, DataType type = DataType::f32) {
    Dims dims;
    for (const int64_t size : shape) dims.push_back({size, ""});
    graph.values.push_back({name, type, dims});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  ValueId picture(const std::string& name, DataType type = DataType::f32) { return value(name, {1, 4, 8, 8}, type); }
  ValueId input() {
    graph.inputs.push_back(picture("x"));
    return graph.inputs.back();
  }
  ValueId constant(const std::string& name, const Shape& shape, DataType type = DataType::f32) {
    const ValueId id = value(name, shape, type);
    graph.constants.emplace(id, make_tensor(type, shape));
    return id;
  }
  ValueId node(const std::string& name, const std::string& op, std::vector<ValueId> inputs, ValueId output) {
    graph.nodes.push_back({name, op, "", std::move(inputs), {output}, {}});
    return output;
  }
  ValueId conv(const std::string& name, ValueId x, ValueId w) { return node(name, "Conv", {x, w}, picture(name + "_out")); }
};

// conv1 - relu1 - conv2 - add(relu1) - flat
Net residual(const std::string& second = "conv2") {
  Net net;
  const ValueId x = net.input();
  const ValueId one = net.node("relu1", "Relu", {net.conv("conv1", x, net.constant("w1", {4, 4, 3, 3}))}, net.picture("a"));
  const ValueId two = net.conv(second, one, net.constant("w2", {4, 4, 3, 3}));
  const ValueId sum = net.node("add", "Add", {two, one}, net.picture("sum"));
  net.graph.outputs = {net.node("flat", "Flatten", {sum}, net.value("y", {1, 256}))};
  return net;
}

std::vector<LayerWork> works(const Net& net, const std::string& precision, const std::vector<std::string>& names) {
  return work_of_layers(net.graph, precision, names).layers;
}

TEST(LayerWork, WhatStaysInsideALayerIsNotMoved) {
  const Net net = residual();
  const WorkOfLayers all = work_of_layers(net.graph, "fp32", {"conv1+relu1", "conv2+add", "flat"});
  EXPECT_THAT(all.layers[0].nodes, ElementsAre(0, 1));
  EXPECT_EQ(all.layers[0].macs, macs);
  EXPECT_EQ(all.layers[0].flop, 2 * macs + elements);
  EXPECT_EQ(all.layers[0].bytes, 4 * (elements + weights + elements));
  EXPECT_EQ(all.layers[1].bytes, 4 * (elements + weights + elements)) << "the residual is the same picture that the convolution reads";
  EXPECT_EQ(all.layers[2].bytes, 0);
  EXPECT_TRUE(all.left_over.empty());
}

TEST(LayerWork, LayersOnTheirOwnMoveWhatIsBetweenThem) {
  const auto layers = works(residual(), "fp32", {"conv1", "relu1", "conv2", "add"});
  EXPECT_EQ(layers[0].bytes, 4 * (2 * elements + weights));
  EXPECT_EQ(layers[1].bytes, 4 * 2 * elements);
  EXPECT_EQ(layers[3].bytes, 4 * 3 * elements);
}

TEST(LayerWork, NodesAreFoundByTheirNames) {
  const Net net = residual("conv2+add");  // a name that looks like two
  const auto layers = works(net, "fp32", {"conv2+add+add", "fused/conv1+whatever+relu1+", "reorder a", "", "conv1", "conv1"});
  EXPECT_THAT(layers[0].nodes, ElementsAre(2, 3));
  EXPECT_THAT(layers[1].nodes, ElementsAre(1)) << "what is no node's name is passed over";
  EXPECT_TRUE(layers[2].nodes.empty());
  EXPECT_EQ(layers[2].bytes, 0);
  EXPECT_TRUE(layers[3].nodes.empty());
  EXPECT_EQ(layers[4].macs, macs);
  EXPECT_TRUE(layers[5].nodes.empty()) << "a node's work is counted once";
}

// OpenVINO names a convolution whose BatchNormalization it folded so: "Multiply_7+norm+relu".
TEST(LayerWork, ARenamedConvolutionIsInTheLayerThatItGoesTo) {
  Net net;
  const ValueId bn =
      net.node("norm", "BatchNormalization", {net.conv("conv", net.input(), net.constant("w", {4, 4, 3, 3}))}, net.picture("n"));
  const ValueId relu = net.node("relu", "Relu", {bn}, net.picture("a"));
  net.graph.outputs = {net.conv("last", relu, net.constant("w2", {4, 4, 3, 3}))};
  for (const std::string name : {"Multiply_7+norm+relu", "Multiply_7+relu", "conv+relu"}) {
    const WorkOfLayers all = work_of_layers(net.graph, "fp32", {name, "last"});
    EXPECT_THAT(all.layers[0].nodes, ElementsAre(0, 1, 2)) << name;
    EXPECT_EQ(all.layers[0].macs, macs);
    EXPECT_EQ(all.layers[0].bytes, 4 * (2 * elements + weights)) << name;
    EXPECT_TRUE(all.left_over.empty());
  }
  EXPECT_EQ(works(net, "fp32", {"conv+relu", "last"})[0].flop, 2 * macs + elements) << "nothing is known to run what was folded";
  EXPECT_EQ(works(net, "fp32", {"conv+norm+relu", "last"})[0].flop, 2 * macs + 2 * elements);
  EXPECT_THAT(work_of_layers(net.graph, "fp32", {"relu"}).left_over, ElementsAre("last")) << "its result leaves the Graph";
}

// ONNX Runtime names what its layout pass made after the last result, with an ending.
TEST(LayerWork, ALayerMayBeNamedAfterItsResult) {
  const auto layers = works(residual(), "fp32", {"reorder_input", "a_nchwc", "sum_nchwc", "nobody_knows"});
  EXPECT_TRUE(layers[0].nodes.empty());
  EXPECT_THAT(layers[1].nodes, ElementsAre(0, 1));
  EXPECT_THAT(layers[2].nodes, ElementsAre(2, 3));
  EXPECT_TRUE(layers[3].nodes.empty());
  EXPECT_THAT(works(residual(), "fp32", {"conv1_reorder", "conv1"})[0].nodes, ElementsAre()) << "conv1 itself goes first";
}

// OpenVINO names a reorder after the layer before it, and that layer, its BatchNormalization folded, after nothing in the file.
TEST(LayerWork, AReorderIsNoConvolution) {
  const Net net = residual();
  for (const std::string name : {"conv1/WithoutBiases_acdb_abcd_relu1", "conv1", "conv1+relu1"}) {
    const WorkOfLayers all =
        work_of_layers(net.graph, "fp32", {name, "Multiply_7+relu1", "conv2+add"}, {"Reorder", "Convolution", "Convolution"});
    EXPECT_THAT(all.layers[0].nodes, ElementsAre()) << name;
    EXPECT_EQ(all.layers[0].macs, 0) << name;
    EXPECT_THAT(all.layers[1].nodes, ElementsAre(0, 1)) << name;
    EXPECT_EQ(all.layers[1].macs, macs) << name;
  }
  const auto layers =
      work_of_layers(net.graph, "fp32", {"conv1+relu1", "flat", "Multiply_8+add"}, {"Convolution", "Reorder", "Convolution"}).layers;
  EXPECT_THAT(layers[1].nodes, ElementsAre(4)) << "a view may be one";
  EXPECT_THAT(layers[2].nodes, ElementsAre(2, 3));
}

TEST(LayerWork, OnlyTheNearestMultiplicationIsTaken) {
  Net net;
  const ValueId one = net.conv("one", net.input(), net.constant("w", {4, 4, 3, 3}));
  const ValueId two = net.node("relu", "Relu", {net.conv("two", one, net.constant("w2", {4, 4, 3, 3}))}, net.picture("a"));
  net.graph.outputs = {net.node("flat", "Flatten", {two}, net.value("y", {1, 256}))};
  const WorkOfLayers all = work_of_layers(net.graph, "fp32", {"relu"});
  EXPECT_THAT(all.layers[0].nodes, ElementsAre(1, 2));
  EXPECT_THAT(all.left_over, ElementsAre("one"));
  EXPECT_THAT(work_of_layers(net.graph, "fp32", {"flat"}).left_over, ElementsAre("one", "two")) << "a view multiplies nothing";
}

TEST(LayerWork, AConvolutionThatTwoLayersReadIsInNone) {
  const WorkOfLayers all = work_of_layers(residual().graph, "fp32", {"conv2", "add"});
  EXPECT_THAT(all.left_over, ElementsAre("conv1"));
}

TEST(LayerWork, HalfPrecisionsMoveHalf) {
  const auto layers = works(residual(), "bf16", {"conv1+relu1", "conv2", "add"});
  EXPECT_EQ(layers[0].bytes, 2 * (2 * elements + weights));
  EXPECT_EQ(layers[0].precision, "bf16");
  EXPECT_EQ(layers[2].precision, "fp32") << "nothing is multiplied";
}

// Quantized as files have it: x and the weights in eight bits, the result too; a second convolution left in floats.
TEST(LayerWork, QuantizedValuesMoveAsBytes) {
  Net net;
  const ValueId scale = net.constant("scale", {}), zero = net.constant("zero", {}, DataType::u8);
  const auto quantize = [&](const std::string& name, ValueId x) {
    return net.node("q_" + name, "QuantizeLinear", {x, scale, zero}, net.picture(name + "_q", DataType::u8));
  };
  const auto dequantize = [&](const std::string& name, ValueId q) {
    return net.node("dq_" + name, "DequantizeLinear", {q, scale, zero}, net.picture(name + "_dq"));
  };
  const ValueId x = dequantize("x", quantize("x", net.input()));
  const ValueId w =
      net.node("dq_w", "DequantizeLinear", {net.constant("w", {4, 4, 3, 3}, DataType::i8), scale, zero}, net.value("w_dq", {4, 4, 3, 3}));
  const ValueId a = dequantize("a", quantize("a", net.conv("conv", x, w)));
  net.graph.outputs = {net.conv("kept", a, net.constant("w2", {4, 4, 3, 3}))};

  const auto layers = works(net, "int8", {"conv", "kept"});
  EXPECT_EQ(layers[0].precision, "int8");
  EXPECT_EQ(layers[0].bytes, elements + weights + elements);
  EXPECT_EQ(layers[1].precision, "fp32");
  EXPECT_EQ(layers[1].bytes, elements + 4 * weights + 4 * elements);
  // The same where the engine's name has the conversions too: scales and zeros are read as well.
  const LayerWork whole = works(net, "int8", {"dq_x+dq_w+conv+q_a"})[0];
  EXPECT_EQ(whole.precision, "int8");
  EXPECT_EQ(whole.bytes, elements + weights + elements + 4 + 1);
}

TEST(LayerWork, ShapesThatOnlyARunKnowsCountAsNothing) {
  Net net;
  const ValueId found = net.value("found", {});
  net.graph.values[static_cast<size_t>(found)].dims.reset();
  net.node("find", "NonZero", {net.input()}, found);
  net.graph.outputs = {found};
  EXPECT_EQ(works(net, "fp32", {"find"})[0].flop, 0);
}

}  // namespace
}  // namespace deepgap
