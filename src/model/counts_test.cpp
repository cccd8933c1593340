#include "model/graph_tools.h"
#include "model/model_source.h"
#include "model/onnx_test_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace deepgap {
namespace {

GraphSummary summary_of(const std::string& name) { return summarize_model({.name = name}); }

// The figures that torchvision publishes.
TEST(Counts, ParametersAgreeWithThePublishedOnes) {
  EXPECT_EQ(summary_of("resnet18").parameters, 11'689'512);
  EXPECT_EQ(summary_of("resnet34").parameters, 21'797'672);
  EXPECT_EQ(summary_of("resnet50").parameters, 25'557'032);
  EXPECT_EQ(summary_of("resnet101").parameters, 44'549'160);
  EXPECT_EQ(summary_of("resnet152").parameters, 60'192'808);
  EXPECT_EQ(summary_of("mobilenet_v2").parameters, 3'504'872);
}

TEST(Counts, WorkAgreesWithThePublishedOnes) {
  EXPECT_EQ(summary_of("resnet50").macs_per_item, 4'089'184'256);
  EXPECT_EQ(summary_of("resnet18").macs_per_item, 1'814'073'344);
  EXPECT_EQ(summary_of("mobilenet_v2").macs_per_item, 300'774'272);
}

// Half as wide: convolutions between inner layers have a quarter of the work and weights, the first one half.
TEST(Counts, AChangedWidthChangesThemRightly) {
  const GraphSummary full = summary_of("resnet18"), half = summary_of("resnet18:width=0.5");
  const int64_t first_macs = int64_t{64} * 3 * 7 * 7 * 112 * 112, last_macs = 512 * 1000;
  EXPECT_EQ(4 * (half.macs_per_item - first_macs / 2 - last_macs / 2), full.macs_per_item - first_macs - last_macs);
  // 4,800 gains and biases of BatchNorm each, 1000 biases, the first convolution and the classifier do not fall by four.
  const int64_t linear = 9'600 + 64 * 3 * 49 + 512 * 1000;
  EXPECT_EQ(4 * (half.parameters - linear / 2 - 1000), full.parameters - linear - 1000);
  EXPECT_EQ(summary_of("resnet18:classes=10").parameters, full.parameters - 990 * 513);
}

TEST(Counts, OfOneConvolutionByHand) {
  const GraphSummary summary = summarize(read_model(conv_model()));
  EXPECT_EQ(summary.parameters, 4 * 27 + 4);
  EXPECT_EQ(summary.macs_per_item, 4 * 8 * 8 * 27);
  EXPECT_EQ(summary.flop_per_item, 2 * 4 * 8 * 8 * 27 + 4 * 8 * 8) << "the Relu takes one for each element";
  const int64_t conv = 3 * 64 + 4 * 27 + 4 + 4 * 64, relu = 2 * 4 * 64;
  EXPECT_EQ(summary.bytes_per_item, 4 * (conv + relu));
  EXPECT_EQ(summary.weight_bytes, 4 * (4 * 27 + 4));
  ASSERT_EQ(summary.operators.size(), 2u);
  EXPECT_EQ(summary.operators[0].op, "Conv");
  EXPECT_EQ(summary.operators[0].first_node, "conv");
}

// The data decide how much NonZero finds: that part counts as nothing, the rest as ever.
TEST(Counts, WhatDataDecideCountsAsNothing) {
  pb::ModelProto model = conv_model();
  auto* graph = model.mutable_graph();
  const double before = static_cast<double>(summarize(read_model(model)).flop_per_item);
  add_node(graph, "NonZero", {"x"}, {"found"}, "find");
  add_node(graph, "Transpose", {"found"}, {"turned"}, "turn");
  add_node(graph, "Abs", {"turned"}, {"rows"}, "rows");
  describe_value(graph->add_output(), "rows", {});
  const GraphSummary summary = summarize(read_model(model));
  EXPECT_EQ(static_cast<double>(summary.flop_per_item), before);
  EXPECT_EQ(node_macs(read_model(model)).size(), summary.nodes);
}

TEST(Counts, WorkOfProductsPoolsAndReductions) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {-1, 6, 8, 8});
  for (const auto* output : {"p", "g", "t", "m"}) describe_value(graph->add_output(), output, {});
  auto* kernel = add_attribute(add_node(graph, "MaxPool", {"x"}, {"p"}, "pool"), "kernel_shape", pb::AttributeProto::INTS);
  kernel->add_ints(2), kernel->add_ints(2);
  add_node(graph, "GlobalAveragePool", {"x"}, {"g"}, "global");
  add_floats(graph, "tw", {6, 2, 3, 3});
  add_node(graph, "ConvTranspose", {"x", "tw"}, {"t"}, "transposed");
  add_floats(graph, "mw", {8, 5});
  add_node(graph, "MatMul", {"x", "mw"}, {"m"}, "product");
  const Graph bound = bind_symbols(read_model(model), {{batch_symbol, 2}});
  const auto count = [&](size_t i) { return count_node(bound, bound.nodes[i]); };
  EXPECT_EQ(count(0).flop, 2 * 6 * 7 * 7 * 4);
  EXPECT_EQ(count(1).flop, 2 * 6 * 64);
  EXPECT_EQ(count(2).macs, 2 * 6 * 64 * 2 * 9);
  EXPECT_EQ(count(3).macs, 2 * 6 * 8 * 5 * 8);
}

TEST(Counts, WorkOfEinsumIsThatOfItsIndices) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {-1, 6, 8});
  describe_value(graph->add_output(), "y", {});
  describe_value(graph->add_output(), "t", {});
  add_floats(graph, "w", {8, 5});
  const auto equation = [](pb::NodeProto* node, const char* text) {
    add_attribute(node, "equation", pb::AttributeProto::STRING)->set_s(text);
  };
  equation(add_node(graph, "Einsum", {"x", "w"}, {"y"}, "product"), "bij,jk->bik");
  equation(add_node(graph, "Einsum", {"x"}, {"t"}, "sum"), "bij->bi");
  const Graph bound = bind_symbols(read_model(model), {{batch_symbol, 2}});
  EXPECT_EQ(count_node(bound, bound.nodes[0]).macs, 2 * 6 * 8 * 5);
  EXPECT_EQ(count_node(bound, bound.nodes[1]).macs, 0);
  EXPECT_EQ(count_node(bound, bound.nodes[1]).flop, 2 * 6 * 8);
  EXPECT_EQ(summarize(read_model(model)).parameters, 8 * 5);
}

// Quantized weights are the same parameters, in integers.
TEST(Counts, ParametersOfQuantizedWeights) {
  pb::ModelProto model = conv_model();
  auto* graph = model.mutable_graph();
  auto* w = graph->mutable_initializer(0);
  w->set_name("wq");
  w->set_data_type(pb::TensorProto::INT8);
  w->clear_float_data();
  w->set_raw_data(std::string(108, '\1'));
  add_floats(graph, "scale", {});
  add_node(graph, "DequantizeLinear", {"wq", "scale"}, {"w"}, "dequantize");
  EXPECT_EQ(summarize(read_model(model)).parameters, 4 * 27 + 4);
}

TEST(Counts, OpenSizesLeaveTheWorkOpen) {
  pb::ModelProto model = conv_model();
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(3)->clear_dim_value();
  const GraphSummary summary = summarize(read_model(model));
  EXPECT_EQ(summary.macs_per_item, -1);
  EXPECT_EQ(summary.flop_per_item, -1);
  EXPECT_EQ(summary.parameters, 4 * 27 + 4);
  EXPECT_TRUE(node_macs(read_model(model)).empty());
}

TEST(Counts, NodesAddUpToTheWhole) {
  const auto model = open_model({.name = "mobilenet_v2:width=0.1,classes=10,image=32"});
  const std::vector<int64_t> macs = model->node_macs();
  ASSERT_EQ(macs.size(), model->graph().nodes.size());
  EXPECT_EQ(std::accumulate(macs.begin(), macs.end(), int64_t{0}), model->summary().macs_per_item);
  EXPECT_THAT(node_macs(read_model(conv_model())), testing::ElementsAre(4 * 8 * 8 * 27, 0)) << "a convolution and its Relu";
}

TEST(Counts, TheHashIsOfStructureAndWeights) {
  const auto hash_after = [](auto change) {
    pb::ModelProto model = conv_model();
    change(*model.mutable_graph());
    return graph_hash(read_model(model));
  };
  const std::string plain = hash_after([](pb::GraphProto&) {});
  EXPECT_EQ(hash_after([](pb::GraphProto& g) { g.mutable_node(0)->set_name("other"); }), plain);
  EXPECT_NE(hash_after([](pb::GraphProto& g) { g.mutable_initializer(0)->set_float_data(107, 2); }), plain);
  EXPECT_NE(hash_after([](pb::GraphProto& g) { g.mutable_node(1)->set_op_type("Tanh"); }), plain);
  EXPECT_NE(hash_after([](pb::GraphProto& g) { add_attribute(g.mutable_node(0), "group", pb::AttributeProto::INT)->set_i(1); }), plain);
  EXPECT_NE(hash_after([](pb::GraphProto& g) { describe_value(g.add_output(), "c", {}); }), plain);
}

}  // namespace
}  // namespace deepgap
