#include "engine/passes/quantization.h"

#include "engine/passes/fused.h"
#include "engine/passes/passes.h"
#include "engine/passes/test_quantized_graphs.h"
#include "model/eval/evaluator.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cstring>

namespace deepgap {
namespace {

using testing::count_ops;
using testing::floats;
using testing::Grid;
using testing::integer_tensor;
using testing::QuantizedBuilder;

// Node by node, fused ones by their bodies.
std::vector<Tensor> evaluate_fused(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<ValueId, Tensor> values(graph.constants.begin(), graph.constants.end());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (const auto& node : graph.nodes) {
    std::vector<Tensor> arguments;
    for (ValueId id : node.inputs) arguments.push_back(id == no_value ? Tensor{} : values.at(id));
    const auto results = is_fused(node) ? evaluate(*std::get<std::shared_ptr<const Graph>>(node.attributes.at("body")), arguments)
                                        : evaluate_node(graph, node, arguments);
    for (size_t i = 0; i < results.size() && i < node.outputs.size(); ++i) values[node.outputs[i]] = results[i];
  }
  std::vector<Tensor> outputs;
  for (ValueId id : graph.outputs) outputs.push_back(values.at(id));
  return outputs;
}

// The passes change no bit: each fused body is what was there.
Graph expect_same_bits(const Graph& before, const std::vector<Shape>& shapes,
                       const FusionRules& rules = {.integers = Integers::computed_with}) {
  std::mt19937 random(1);
  std::vector<Tensor> inputs;
  for (const auto& shape : shapes) inputs.push_back(testing::random_tensor(shape, random));
  Graph after = before;
  optimize_unbound(after, rules);
  optimize_bound(after, rules);
  const auto expected = evaluate(before, inputs), got = evaluate_fused(after, inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].bytes(), got[i].bytes());
    EXPECT_EQ(std::memcmp(expected[i].data.get(), got[i].data.get(), expected[i].bytes()), 0) << "output " << i;
  }
  return after;
}

std::map<std::string, Attribute> window(int64_t kernel, int64_t stride) {
  return {{"kernel_shape", std::vector<int64_t>{kernel, kernel}}, {"strides", std::vector<int64_t>{stride, stride}}};
}

TEST(FuseQuantized, TakesTheSumAndTheQuantizer) {
  QuantizedBuilder b;
  const Grid g{0.03F, 120};
  const ValueId x = b.through(b.input({1, 8, 4, 4}), g);
  const ValueId y = b.node("Conv", {x, b.quantized_weights({8, 8, 1, 1}, 0, 8), b.weights({8})});
  const Graph after = expect_same_bits(b.finish({b.quantize(b.node("Relu", {b.node("Add", {y, x})}), {0.05F, 0})}), {{1, 8, 4, 4}});
  ASSERT_EQ(after.nodes.size(), 2U);  // the input's quantizer and one fused node
  const Operation operation = operation_of(after, after.nodes[1]);
  EXPECT_EQ(operation.main.op, "Conv");
  ASSERT_EQ(operation.posts.size(), 2U);
  EXPECT_EQ(operation.posts[0].kind, Post::Kind::add);
  EXPECT_EQ(operation.posts[0].quantization->zero_point(), 120);
  EXPECT_EQ(operation.integers[0]->scale(), 0.03F);
  EXPECT_EQ(operation.integers[1]->scales.size(), 8U);
  EXPECT_FALSE(operation.integers[2].has_value());
  EXPECT_EQ(operation.result->scale(), 0.05F);
}

TEST(FuseQuantized, RoundsInsideWhereOthersQuantizeBeforeTheSum) {
  QuantizedBuilder b;
  const Grid g{0.03F, 120};
  const ValueId x = b.through(b.input({1, 8, 4, 4}), g);
  const ValueId y = b.through(b.node("Conv", {x, b.quantized_weights({8, 8, 1, 1}, 0, 8)}), {0.02F, 100});
  const Graph after = expect_same_bits(b.finish({b.quantize(b.node("Relu", {b.node("Add", {y, x})}), {0.05F, 0})}), {{1, 8, 4, 4}});
  ASSERT_EQ(after.nodes.size(), 2U);
  const Operation operation = operation_of(after, after.nodes[1]);
  ASSERT_EQ(operation.posts.size(), 3U);
  EXPECT_EQ(operation.posts[0].kind, Post::Kind::round);
  EXPECT_EQ(operation.posts[0].quantization->zero_point(), 100);
  EXPECT_EQ(operation.result->scale(), 0.05F);
}

TEST(FuseQuantized, APointwiseConvolutionTakesTheSumWhereThatIsAsked) {
  QuantizedBuilder b;
  const Grid g{0.03F, 120};
  const ValueId x = b.through(b.input({1, 8, 4, 4}), g);
  const auto conv = [&](ValueId of, int64_t stride) {
    return b.through(b.node("Conv", {of, b.quantized_weights({8, 8, 1, 1}, 0, 8)}, window(1, stride)), g);
  };
  const ValueId main = conv(conv(x, 2), 1), around = conv(x, 2);
  const Graph before = b.finish({b.quantize(b.node("Relu", {b.node("Add", {main, around})}), {0.05F, 0})});
  for (const bool asked : {false, true}) {
    FusionRules rules{.integers = Integers::computed_with};
    rules.pointwise_takes_sum = asked;
    const Graph after = expect_same_bits(before, {{1, 8, 4, 4}}, rules);
    const Operation last = operation_of(after, after.nodes.back());
    EXPECT_EQ(last.posts.size(), 3U);
    EXPECT_EQ(attribute_ints(last.main, "strides", {}), (std::vector<int64_t>{asked ? 1 : 2, asked ? 1 : 2}));
  }
}

TEST(FuseQuantized, LeavesAResultOfNumbersAsNumbers) {
  QuantizedBuilder b;
  const ValueId x = b.through(b.input({1, 8, 4, 4}), {0.03F, 120});
  const ValueId y = b.node("Conv", {x, b.quantized_weights({8, 8, 1, 1}, 0, 8)});
  const ValueId z = b.node("Conv", {x, b.quantized_weights({8, 8, 1, 1}, 0, 8)});
  const Graph after = expect_same_bits(b.finish({b.node("Add", {y, z}), b.quantize(y, {0.1F, 3})}), {{1, 8, 4, 4}});
  EXPECT_EQ(count_ops(after, "QuantizeLinear"), 2U);
}

TEST(MoveQuantization, ThroughLayoutsPoolsAndConcat) {
  QuantizedBuilder b;
  const Grid g{0.03F, 120};
  const ValueId x = b.through(b.input({1, 8, 4, 4}), g);
  const ValueId y = b.node("Relu", {b.node("Conv", {x, b.quantized_weights({8, 8, 1, 1}, 0, 8)})});
  const ValueId pooled = b.node("MaxPool", {y}, window(2, 2));
  const ValueId joined = b.node("Concat", {pooled, b.node("MaxPool", {x}, window(2, 2))}, {{"axis", int64_t{1}}});
  const ValueId flat = b.through(b.node("Flatten", {joined}), {0.04F, 0});
  const ValueId z = b.node("MatMul", {flat, b.quantized_weights({64, 5}, 1, 64)});
  const Graph after = expect_same_bits(b.finish({z}), {{1, 8, 4, 4}});
  EXPECT_EQ(count_ops(after, "DequantizeLinear"), 0U);
  EXPECT_EQ(count_ops(after, "QuantizeLinear"), 1U);
  EXPECT_EQ(count_ops(after, "MaxPool"), 0U);
}

TEST(MoveQuantization, PairsThatUndoEachOtherVanish) {
  QuantizedBuilder b;
  const Grid g{0.03F, 5, DataType::i8};
  const ValueId x = b.through(b.through(b.input({2, 3}), g), g);
  const Graph after = expect_same_bits(b.finish({x}), {{2, 3}});
  EXPECT_EQ(after.nodes.size(), 2U);
  QuantizedBuilder c;
  const ValueId y = c.through(c.through(c.input({2, 3}), g), {0.03F, 6, DataType::i8});
  EXPECT_EQ(expect_same_bits(c.finish({y}), {{2, 3}}).nodes.size(), 3U);
}

TEST(CenterWeights, UnsignedOnesAroundAZeroPoint) {
  QuantizedBuilder b;
  const ValueId zero = b.constant(integer_tensor(DataType::u8, {}, {128}));
  const ValueId w = b.node("DequantizeLinear",
                           {b.constant(integer_tensor(DataType::u8, {2, 2}, {0, 128, 129, 255})), b.constant(floats({}, {0.5F})), zero});
  Graph graph = b.finish({b.node("MatMul", {b.input({1, 2}), w})});
  center_weights(graph);
  const auto centered = graph.constants.at(graph.nodes[0].inputs[0]).as<int8_t>();
  EXPECT_EQ(std::vector<int8_t>(centered.begin(), centered.end()), (std::vector<int8_t>{-128, 0, 1, 127}));
  EXPECT_EQ(graph.nodes[0].inputs.size(), 2U);
}

TEST(RequireHandledQuantization, RefusesOtherNumbersThanFloat) {
  const auto refusal = [](bool constant, DataType scale, int64_t block_size) -> std::string {
    QuantizedBuilder b;
    const ValueId q = constant ? b.constant(integer_tensor(DataType::i8, {2}, {5, 6})) : b.quantize(b.input({2}), {1, 0, DataType::i8});
    const ValueId s = block_size == 0 ? b.constant(floats({}, {1})) : b.constant(floats({1}, {1}));
    b.graph.values[static_cast<size_t>(s)].type = scale;
    b.graph.outputs = {b.node("DequantizeLinear", {q, s}, {{"axis", int64_t{0}}, {"block_size", block_size}})};
    try {
      optimize_unbound(b.graph);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::refused);
      return error.what();
    }
    return "not refused";
  };
  EXPECT_EQ(refusal(true, DataType::f32, 0), "not refused");
  EXPECT_EQ(refusal(true, DataType::f32, 2), "not refused") << "constants are computed once";
  EXPECT_EQ(refusal(true, DataType::f16, 0),
            "native: node 'DequantizeLinear_0' (DequantizeLinear): a scale of float16 is not handled here");
  EXPECT_EQ(refusal(false, DataType::f32, 2),
            "native: node 'DequantizeLinear_1' (DequantizeLinear): scales of blocks are not handled here");
}

}  // namespace
}  // namespace deepgap
