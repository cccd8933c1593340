#include "backends/common/blamed_node.h"
#include "backends/common/failure.h"
#include "backends/common/precision_tally.h"
#include "backends/common/quantized_file.h"
#include "backends/common/staging.h"
#include "backends/common/tiny_onnx.h"
#include "backends/common/tiny_rig.h"
#include "base/test_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

Graph two_convolutions() {
  Graph graph;
  graph.values = {{"x", DataType::f32, {}}, {"a", DataType::f32, {}}, {"b", DataType::f32, {}}};
  graph.nodes = {{"first", "ConvTranspose", "", {0}, {1}, {}}, {"second", "Conv", "", {1}, {2}, {}}};
  return graph;
}

TEST(BlamedNode, IsKnownByOperatorAndName) {
  const Graph graph = two_convolutions();
  EXPECT_EQ(blamed_node(graph, "Conv is wrong here"), &graph.nodes[1]);
  EXPECT_EQ(blamed_node(graph, "ConvTranspose is wrong here"), &graph.nodes[0]);
  EXPECT_EQ(blamed_node(graph, "While validating 'Conv b'"), &graph.nodes[1]) << "by its output";
  EXPECT_EQ(blamed_node(graph, "nothing named"), nullptr);
  EXPECT_EQ(full_name({"m", "Mix", "com.example", {}, {}, {}}), "com.example.Mix");
}

TEST(BackendPort, ShapesFollowFromTheBatch) {
  const Port batched{"x", DataType::f32, Dims{{1, batch_symbol}, {3, ""}}},
      twice{"y", DataType::f32, Dims{{2, batch_symbol}, {1, batch_symbol}}};
  EXPECT_EQ(batched.shape(4), (Shape{4, 3}));
  EXPECT_EQ(twice.shape(4), (Shape{8, 4}));
  EXPECT_TRUE(batched.leads_with_batch());
  EXPECT_FALSE(twice.leads_with_batch());
  EXPECT_EQ((Port{"z", DataType::f32, std::nullopt}.shape(1)), std::nullopt);
  const Port open{"o", DataType::f32, Dims{{1, "L"}}}, fixed{"f", DataType::f32, Dims{{2, ""}}};
  EXPECT_THAT(failure_of([&] { input_shapes("e", "m", {open}, 1); }).what(), HasSubstr("input 'o' of m is open"));
  EXPECT_THAT(failure_of([&] { input_shapes("e", "m", {fixed}, 3); }).what(), HasSubstr("m has a fixed batch of 2, not 3"));
  EXPECT_THAT(input_shapes("e", "m", {fixed}, 2), ElementsAre(Shape{2}));
  EXPECT_THAT(input_shapes("e", "m", {fixed, batched}, 1), ElementsAre(Shape{2}, Shape{1, 3})) << "one item";
  EXPECT_THAT(failure_of([&] {
                input_shapes("e", "m", {fixed, batched}, 2);
              }).what(),
              HasSubstr("no batch dimension that all inputs share"));
}

class StagingTest : public testing::Test {
 protected:
  std::vector<TensorView> sample(const std::vector<float>& values, DataType type = DataType::f32) const {
    return {TensorView{type, shape, reinterpret_cast<const std::byte*>(values.data())}};
  }
  Shape shape{1, 2};
  std::vector<float> a{1, 2}, b{3, 4}, to = std::vector<float>(6);
  Staging staging{"e", {{"x", DataType::f32, Dims{{1, batch_symbol}, {2, ""}}}}};
  void gather(const std::vector<uint32_t>& samples, int64_t batch, size_t bytes = 24) {
    staging.gather(0, samples, batch, reinterpret_cast<std::byte*>(to.data()), bytes);
  }
};

TEST_F(StagingTest, LinesSamplesUpAndFillsWithTheLast) {
  staging.stage(std::vector<std::vector<TensorView>>{sample(a), sample(b)});
  gather({1, 0}, 3);
  EXPECT_THAT(to, ElementsAre(3, 4, 1, 2, 1, 2));
}

TEST_F(StagingTest, NeighboursAreTakenWhereTheyAre) {
  const std::vector<float> block{1, 2, 3, 4, 5, 6};
  const auto at = [&](size_t i) { return reinterpret_cast<const std::byte*>(&block[i]); };
  staging.stage(std::vector<std::vector<TensorView>>{
      {{DataType::f32, shape, at(0)}}, {{DataType::f32, shape, at(2)}}, {{DataType::f32, shape, at(4)}}});
  auto* room = reinterpret_cast<std::byte*>(to.data());
  const auto taken = [&](std::vector<uint32_t> samples, int64_t batch) {
    return staging.adjacent_or_gathered(0, samples, batch, room, static_cast<size_t>(batch) * 8);
  };
  EXPECT_EQ(taken({0, 1, 2}, 3), at(0));
  EXPECT_EQ(taken({1, 2}, 2), at(2));
  EXPECT_EQ(taken({2}, 1), at(4));
  EXPECT_THAT(to, Each(0)) << "nothing was copied";
  EXPECT_EQ(taken({1, 0}, 2), room);
  EXPECT_THAT(to, ElementsAre(3, 4, 1, 2, 0, 0));
  EXPECT_EQ(taken({1, 2}, 3), room) << "filled up with the last";
  EXPECT_THAT(to, ElementsAre(3, 4, 5, 6, 5, 6));
}

TEST_F(StagingTest, WhatDoesNotFitIsNamed) {
  EXPECT_THAT(failure_of([&] { staging.stage(std::vector<std::vector<TensorView>>{{}}); }).what(), HasSubstr("0 tensors"));
  EXPECT_THAT(failure_of([&] { staging.stage(std::vector<std::vector<TensorView>>{sample(a, DataType::i32)}); }).what(),
              HasSubstr("int32"));
  staging.stage(std::vector<std::vector<TensorView>>{sample(a)});
  EXPECT_THAT(failure_of([&] { gather({0}, 2); }).what(), HasSubstr("2 samples of 8 bytes for input 'x', the model takes 24"));
  EXPECT_THAT(failure_of([&] { gather({0, 7, 0}, 3); }).what(), HasSubstr("sample 7 was not staged, 1 were"));
}

TEST(Failure, IsTheErrorItselfOrOneWithItsWords) {
  EXPECT_EQ(error_from(Error(ErrorKind::out_of_memory, "full")).kind(), ErrorKind::out_of_memory);
  EXPECT_EQ(error_from(std::runtime_error("odd")).kind(), ErrorKind::refused);
  EXPECT_EQ(error_from(std::bad_alloc()).kind(), ErrorKind::out_of_memory);
  EXPECT_STREQ(error_from(std::runtime_error("odd")).what(), "odd");
}

TEST(QuantizedFile, IsInt8AndNothingElse) {
  GraphSummary plain, quantized;
  quantized.operators = {{"DequantizeLinear", "", 1, "d"}, {"QuantizeLinear", "", 1, "q"}};
  EXPECT_EQ(quantization_refusal(Precision::int8, quantized), "");
  EXPECT_EQ(quantization_refusal(Precision::fp32, plain), "");
  EXPECT_THAT(quantization_refusal(Precision::int8, plain), HasSubstr("needs a quantized file"));
  EXPECT_THAT(quantization_refusal(Precision::fp32, quantized), HasSubstr("node 'q'"));
  GraphSummary dynamic, few_bits;
  dynamic.operators = {{"DynamicQuantizeLinear", "", 1, "d"}, {"MatMulInteger", "", 1, "m"}};
  few_bits.operators = {{"MatMulNBits", "com.microsoft", 1, "m"}};
  for (const GraphSummary& graph : {dynamic, few_bits}) {
    EXPECT_EQ(quantization_refusal(Precision::int8, graph), "");
    EXPECT_EQ(quantization_refusal(Precision::fp32, graph), "") << "the rest of it";
  }
}

// Three nodes of 70, 0 and 30 multiply-accumulates: conv1 -> a, conv1_relu -> b, fc -> c.
class Weighed final : public TestModel {
 public:
  Weighed() {
    graph_.values = {{"a", DataType::f32, {}}, {"b", DataType::f32, {}}, {"c", DataType::f32, {}}};
    graph_.nodes = {{"conv1", "Conv", "", {}, {0}, {}}, {"conv1_relu", "Relu", "", {0}, {1}, {}}, {"fc", "Gemm", "", {1}, {2}, {}}};
  }
  std::vector<int64_t> node_macs() const override { return {70, 0, 30}; }
};

TEST(PrecisionTally, WeighsByMultiplyAccumulates) {
  const Weighed model;
  PrecisionTally tally(model);
  EXPECT_TRUE(tally.computed("conv1/WithoutBiases", "int8"));
  EXPECT_FALSE(tally.computed("conv1_relu", "fp32")) << "another node's name, which begins so";
  EXPECT_FALSE(tally.computed("conv10", "fp32"));
  EXPECT_TRUE(tally.computed("conv1", "fp32")) << "the first counts";
  EXPECT_THAT(tally.shares(), UnorderedElementsAre(Pair("int8", 0.7), Pair("unknown", 0.3)));
  EXPECT_TRUE(tally.computed("c", "fp32")) << "by its output";
  EXPECT_THAT(tally.shares(), UnorderedElementsAre(Pair("int8", 0.7), Pair("fp32", 0.3)));
}

TEST(PrecisionTally, ALayerMayBeCalledByTheLastNodeItFused) {
  const Weighed model;
  PrecisionTally tally(model);
  EXPECT_FALSE(tally.computed("b_nchwc", "fp32")) << "the Relu's output";
  EXPECT_TRUE(tally.computed_up_to("b_nchwc", "fp32"));
  EXPECT_TRUE(tally.computed_up_to("fc", "int8"));
  EXPECT_FALSE(tally.computed_up_to("nobody", "int8"));
  EXPECT_THAT(tally.shares(), UnorderedElementsAre(Pair("int8", 0.3), Pair("fp32", 0.7)));
}

TEST(PrecisionTally, NothingKnownIsEmpty) {
  const auto model = tiny_onnx::doubling(false);
  PrecisionTally tally(model);
  EXPECT_FALSE(tally.computed("twice", "fp32"));
  EXPECT_TRUE(tally.shares().empty());
}

}  // namespace
}  // namespace deepgap
