#include "engine/passes/passes.h"

#include "engine/passes/fused.h"
#include "engine/passes/independent_samples.h"
#include "engine/passes/test_graphs.h"
#include "model/eval/evaluator.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::count_ops;
using testing::floats;
using testing::GraphBuilder;
using testing::sqnr_db;

// Means the same before and after, within rounding.
void expect_same(const Graph& before, const Graph& after, const Shape& input, uint32_t seed, double min_db = 110) {
  std::mt19937 random(seed);
  const std::vector<Tensor> inputs{testing::random_tensor(input, random)};
  const auto expected = evaluate(before, inputs);
  // The evaluator knows no fused nodes: unfold them by their bodies.
  std::map<ValueId, Tensor> values;
  for (const auto& [id, tensor] : after.constants) values[id] = tensor;
  values[after.inputs[0]] = inputs[0];
  for (const auto& node : after.nodes) {
    std::vector<Tensor> arguments;
    for (ValueId id : node.inputs) arguments.push_back(id == no_value ? Tensor{} : values.at(id));
    const auto results = node.domain == "deepgap" ? evaluate(*std::get<std::shared_ptr<const Graph>>(node.attributes.at("body")), arguments)
                                                  : evaluate_node(after, node, arguments);
    for (size_t i = 0; i < results.size() && i < node.outputs.size(); ++i) values[node.outputs[i]] = results[i];
  }
  ASSERT_EQ(after.outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_GT(sqnr_db(expected[i], values.at(after.outputs[i]).as<float>()), min_db) << "output " << i << ", seed " << seed;
}

TEST(RemoveIdentities, BypassesThemAndKeepsOutputNames) {
  GraphBuilder b;
  const ValueId x = b.input({1, 4});
  const ValueId relu = b.node("Relu", {b.node("Identity", {x})});
  const ValueId out = b.node("Dropout", {b.node("Identity", {relu})});
  Graph graph = b.finish({out});
  const Graph before = graph;
  remove_identities(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, "Relu");
  EXPECT_EQ(graph.nodes[0].inputs[0], x);
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[0])].name, before.values[static_cast<size_t>(out)].name);
  expect_same(before, graph, {1, 4}, 1);
}

TEST(RemoveIdentities, KeepsOneFromInputToOutput) {
  GraphBuilder b;
  const ValueId x = b.input({2});
  Graph graph = b.finish({b.node("Identity", {x})});
  remove_identities(graph);
  EXPECT_EQ(graph.nodes.size(), 1U);
}

TEST(RemoveIdentities, TwoOutputsOfOneValueKeepTheirNames) {
  GraphBuilder b;
  const ValueId relu = b.node("Relu", {b.input({2})});
  Graph graph = b.finish({relu, b.node("Identity", {relu})});
  const auto outputs = graph.outputs;
  remove_identities(graph);
  EXPECT_EQ(graph.outputs, outputs);
}

TEST(FoldConstants, ArithmeticAndShapes) {
  GraphBuilder b;
  const ValueId x = b.input({2, 3});
  const ValueId sum = b.node("Add", {b.constant(floats({3}, {1, 2, 3})), b.constant(floats({3}, {10, 20, 30}))});
  const ValueId out = b.node("Add", {x, sum});
  const ValueId shape = b.node("Shape", {out});
  Graph graph = b.finish({out, shape});
  fold_constants(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  const auto folded = graph.constants.at(sum).as<float>();
  EXPECT_EQ(std::vector<float>(folded.begin(), folded.end()), (std::vector<float>{11, 22, 33}));
  const auto sizes = graph.constants.at(shape).as<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(sizes.begin(), sizes.end()), (std::vector<int64_t>{2, 3}));
}

TEST(FoldConstants, DoesNotBlowSmallConstantsUp) {
  GraphBuilder b;
  const ValueId big = b.node("Expand", {b.constant(floats({1}, {1})), b.constant(testing::integers({64, 1024, 1024}))});
  Graph graph = b.finish({big});
  fold_constants(graph);
  EXPECT_EQ(graph.nodes.size(), 1U);
}

TEST(FoldAffines, ConvGroupsAndGemm) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    GraphBuilder b(seed);
    ValueId x = b.input({2, 6, 5, 5});
    x = b.batch_norm(b.conv(x, 6, 8, 3, 1, 1, seed % 2 == 0), 8);
    x = b.batch_norm(b.conv(x, 8, 8, 3, 1, 4), 8);
    x = b.node("Flatten", {b.node("GlobalAveragePool", {x})});
    x = b.batch_norm(b.node("Gemm", {x, b.weights({8, 7}), b.weights({7})}), 7);
    x = b.batch_norm(b.node("Gemm", {x, b.weights({9, 7})}, {{"transB", int64_t{1}}}), 9);
    const Graph before = b.finish({x});
    Graph after = before;
    fold_affines(after);
    remove_dead(after);
    EXPECT_EQ(count_ops(after, "BatchNormalization"), 0U);
    expect_same(before, after, {2, 6, 5, 5}, seed);
  }
}

TEST(FoldAffines, ScalesWeightsThatAreSharedAmongCpus) {
  GraphBuilder b;
  ValueId x = b.batch_norm(b.conv(b.input({1, 6, 5, 5}), 6, 400, 3, 1, 1), 400);
  x = b.node("Flatten", {b.node("GlobalAveragePool", {x})});
  x = b.batch_norm(b.node("Gemm", {x, b.weights({400, 50})}), 50);
  const Graph before = b.finish({x});
  Graph after = before;
  fold_affines(after);
  remove_dead(after);
  EXPECT_EQ(count_ops(after, "BatchNormalization"), 0U);
  expect_same(before, after, {1, 6, 5, 5}, 1);
}

TEST(FoldAffines, HandComputed) {
  GraphBuilder b;
  const ValueId x = b.input({1, 1, 1, 1});
  const ValueId conv = b.node("Conv", {x, b.constant(floats({1, 1, 1, 1}, {2}))});
  const ValueId norm =
      b.node("BatchNormalization",
             {conv, b.constant(floats({1}, {3})), b.constant(floats({1}, {5})), b.constant(floats({1}, {1})), b.constant(floats({1}, {4}))},
             {{"epsilon", 0.0F}});
  Graph graph = b.finish({norm});
  fold_affines(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);  // 3 (2x - 1) / 2 + 5 = 3x + 3.5
  EXPECT_FLOAT_EQ(graph.constants.at(graph.nodes[0].inputs[1]).as<float>()[0], 3.0F);
  EXPECT_FLOAT_EQ(graph.constants.at(graph.nodes[0].inputs[2]).as<float>()[0], 3.5F);
}

TEST(FoldAffines, TransposedConvolutionHasItsOutputChannelsSecond) {
  GraphBuilder b;
  const ValueId x = b.input({1, 2, 1, 1});
  const ValueId up = b.node("ConvTranspose", {x, b.constant(floats({2, 1, 1, 2}, {1, 2, 3, 4}))}, {{"group", int64_t{2}}});
  const ValueId one = b.constant(floats({2}, {1, 1})), zero = b.constant(floats({2}, {0, 0}));
  const ValueId norm = b.node("BatchNormalization", {up, b.constant(floats({2}, {10, 100})), zero, zero, one}, {{"epsilon", 0.0F}});
  b.graph.outputs = {norm};
  fold_affines(b.graph);
  ASSERT_EQ(b.graph.nodes.size(), 1U);
  const auto folded = b.graph.constants.at(b.graph.nodes[0].inputs[1]).as<float>();
  EXPECT_EQ(std::vector<float>(folded.begin(), folded.end()), (std::vector<float>{10, 20, 300, 400}));
}

TEST(FoldAffines, LeavesAConvolutionThatOthersRead) {
  GraphBuilder b;
  const ValueId conv = b.conv(b.input({1, 2, 4, 4}), 2, 2, 3);
  Graph graph = b.finish({b.batch_norm(conv, 2), b.node("Relu", {conv})});
  fold_affines(graph);
  EXPECT_EQ(count_ops(graph, "BatchNormalization"), 1U);
}

TEST(FoldAffines, ArithmeticWithConstantsPerChannel) {
  GraphBuilder b;
  const ValueId x = b.input({2, 3, 5, 5});
  ValueId y = b.node("Add", {b.constant(floats({4, 1, 1}, {1, 2, 3, 4})), b.conv(x, 3, 4, 3)});
  y = b.node("Div", {b.node("Mul", {y, b.constant(floats({1}, {0.5F}))}), b.constant(floats({1, 4, 1, 1}, {2, 4, 8, -1}))});
  y = b.batch_norm(b.node("Sub", {y, b.constant(floats({4, 1, 1}, {1, 0, -1, 5}))}), 4);
  const Graph before = b.finish({y});
  Graph after = before;
  fold_affines(after);
  remove_dead(after);
  EXPECT_EQ(after.nodes.size(), 1U);
  expect_same(before, after, {2, 3, 5, 5}, 1);
}

TEST(FoldAffines, LeavesWhatIsNotOfOneChannel) {
  GraphBuilder b;
  const ValueId conv = b.conv(b.input({1, 2, 2, 2}), 2, 2, 1);
  const ValueId row = b.constant(floats({2}, {1, 2}));  // along the width
  const ValueId one = b.constant(floats({1}, {1})), zero = b.constant(floats({1}, {0}));
  Graph graph = b.finish({b.node("Div", {b.node("Sub", {one, b.node("Add", {conv, row})}), zero})});
  fold_affines(graph);
  EXPECT_EQ(graph.nodes.size(), 4U);
}

TEST(WriteOutBatchNorms, MeansTheSame) {
  GraphBuilder b;
  const ValueId picture = b.node("Relu", {b.batch_norm(b.input({2, 3, 4, 4}), 3)});
  const ValueId flat = b.batch_norm(b.node("Flatten", {picture}), 48);
  const Graph before = b.finish({flat});
  Graph after = before;
  write_out_batch_norms(after);
  validate(after);
  EXPECT_EQ(count_ops(after, "BatchNormalization"), 0U);
  expect_same(before, after, {2, 3, 4, 4}, 1);
  fuse_operators(after);
  EXPECT_EQ(after.nodes.size(), 3U);  // product, addition and activation; Flatten; product and addition
  expect_same(before, after, {2, 3, 4, 4}, 1);
}

TEST(SpreadUpConvolutions, TilesOfOnePixelEach) {
  GraphBuilder b;
  const std::map<std::string, Attribute> tall{{"strides", std::vector<int64_t>{3, 2}}};
  const ValueId up = b.node("ConvTranspose", {b.input({2, 5, 3, 4}), b.weights({5, 2, 3, 2}), b.weights({2})}, tall);
  const ValueId again = b.node("ConvTranspose", {b.node("Sigmoid", {up}), b.weights({2, 1, 3, 2})}, tall);
  const Graph before = b.finish({b.node("Add", {again, again})});
  Graph after = before;
  spread_up_convolutions(after);
  validate(after);
  EXPECT_EQ(count_ops(after, "ConvTranspose"), 0U);
  expect_same(before, after, {2, 5, 3, 4}, 1);
}

TEST(SpreadUpConvolutions, LeavesWindowsThatMeet) {
  GraphBuilder b;
  const ValueId up = b.node("ConvTranspose", {b.input({1, 2, 4, 4}), b.weights({2, 1, 3, 3})}, {{"strides", std::vector<int64_t>{2, 2}}});
  Graph graph = b.finish({up});
  spread_up_convolutions(graph);
  EXPECT_EQ(graph.nodes.size(), 1U);
}

TEST(RemoveDead, DropsNodesAndConstants) {
  GraphBuilder b;
  const ValueId x = b.input({1, 2, 4, 4});
  b.node("Relu", {b.conv(x, 2, 2, 3)});
  Graph graph = b.finish({b.node("Sigmoid", {x})});
  remove_dead(graph);
  EXPECT_EQ(graph.nodes.size(), 1U);
  EXPECT_TRUE(graph.constants.empty());
}

Graph residual_block(GraphBuilder& b) {
  const ValueId x = b.input({2, 4, 6, 6});
  const ValueId main = b.conv(b.node("Relu", {b.conv(x, 4, 4, 3)}), 4, 4, 3);
  const ValueId low = b.constant(floats({}, {0})), high = b.constant(floats({}, {6}));
  return b.finish({b.node("Clip", {b.node("Add", {main, b.conv(x, 4, 4, 1)}), low, high})});
}

TEST(FuseOperators, ResidualBlockBecomesThreeNodes) {
  GraphBuilder b;
  const Graph before = residual_block(b);
  Graph after = before;
  fuse_operators(after);
  validate(after);
  ASSERT_EQ(after.nodes.size(), 3U);
  size_t with_residual = 0;
  for (const auto& node : after.nodes) {
    const auto operation = operation_of(after, node);
    EXPECT_EQ(operation.main.op, "Conv");
    if (operation.posts.size() != 2) continue;
    ++with_residual;
    EXPECT_EQ(operation.posts[0].kind, Post::Kind::add);
    EXPECT_EQ(operation.posts[1].activation.kind, ActivationKind::clip);
    EXPECT_FLOAT_EQ(operation.posts[1].activation.beta, 6);
    EXPECT_NE(operation.name.find("+Add"), std::string::npos);
  }
  EXPECT_EQ(with_residual, 1U);
  expect_same(before, after, {2, 4, 6, 6}, 3, 290);
}

// As in the first block of ResNet's later stages: the way around the block steps over pixels, and comes later in the graph.
TEST(FuseOperators, APointwiseConvolutionTakesTheSumWhereThatIsAsked) {
  for (const int64_t kernel : {1, 3}) {
    GraphBuilder b;
    const ValueId x = b.input({2, 4, 6, 6});
    const auto step = [&](ValueId of, int64_t size, int64_t stride) {
      const std::vector<int64_t> pads(4, size / 2);
      return b.node("Conv", {of, b.weights({4, 4, size, size})}, {{"strides", std::vector<int64_t>{stride, stride}}, {"pads", pads}});
    };
    const ValueId main = step(step(x, 1, 2), kernel, 1);
    const Graph before = b.finish({b.node("Relu", {b.node("Add", {main, step(x, 1, 2)})})});
    for (const bool asked : {false, true}) {
      FusionRules rules;
      rules.pointwise_takes_sum = asked;
      Graph after = before;
      fuse_operators(after, rules);
      validate(after);
      ASSERT_EQ(after.nodes.size(), 3U);
      const Operation last = operation_of(after, after.nodes.back());
      EXPECT_EQ(last.posts.size(), 2U);
      const int64_t stride = asked && kernel == 1 ? 1 : 2;
      EXPECT_EQ(attribute_ints(last.main, "strides", {}), (std::vector<int64_t>{stride, stride}));
      expect_same(before, after, {2, 4, 6, 6}, 5, 290);
    }
  }
}

TEST(FuseOperators, StopsAtOutputsAndSharedValues) {
  GraphBuilder b;
  const ValueId conv = b.conv(b.input({1, 2, 4, 4}), 2, 2, 3);
  const ValueId relu = b.node("Relu", {conv});
  Graph graph = b.finish({conv, relu});
  fuse_operators(graph);
  EXPECT_EQ(graph.nodes.size(), 2U);
  GraphBuilder c;
  const ValueId shared = c.conv(c.input({1, 2, 4, 4}), 2, 2, 3);
  Graph swish = c.finish({c.node("Mul", {shared, c.node("Sigmoid", {shared})})});
  fuse_operators(swish);
  EXPECT_EQ(swish.nodes.size(), 3U);
}

TEST(FuseOperators, ChannelConstantsAndAdditions) {
  GraphBuilder b;
  const ValueId x = b.input({1, 3, 8});
  const ValueId product = b.node("Add", {b.constant(floats({5}, {1, 2, 3, 4, 5})), b.node("MatMul", {x, b.weights({8, 5})})});
  const ValueId other = b.node("MatMul", {x, b.weights({8, 5})});
  const Graph before = b.finish({b.node("Tanh", {b.node("Sub", {b.node("Gelu", {product}), other})})});
  Graph after = before;
  after.opset = 20;
  fuse_operators(after);
  validate(after);
  EXPECT_EQ(after.nodes.size(), 3U);
}

Graph one_node(const std::string& op, const Shape& shape, std::map<std::string, Attribute> attributes) {
  GraphBuilder b;
  return b.finish({b.node(op, {b.input(shape)}, std::move(attributes))});
}

// Each executor says what it does; the passes join no more.
TEST(FusionRules, WhatAnExecutorDoesNotDoIsNotJoined) {
  const auto count_after = [](const FusionRules& rules) {
    GraphBuilder b;
    const ValueId pixels = b.node("Relu", {b.conv(b.input({2, 3, 8, 8}), 3, 4, 3)});
    const ValueId flat = b.node("Flatten", {b.node("GlobalAveragePool", {pixels})});
    const ValueId scaled = b.node("Add", {b.node("Mul", {flat, b.weights({4})}), b.weights({4})});
    Graph graph = b.finish({b.node("Relu", {b.node("Tanh", {scaled})})});
    optimize_unbound(graph, rules);
    optimize_bound(graph, rules);
    return graph.nodes.size();
  };
  FusionRules rules;
  EXPECT_EQ(count_after(rules), 4U) << "Conv+Relu, pool, Flatten, Mul+Add+Tanh+Relu";
  rules.single_elements = false;
  EXPECT_EQ(count_after(rules), 5U) << "Mul, and Add with the activations";
  rules.longest_chain = 2;
  EXPECT_EQ(count_after(rules), 6U);
  rules.elementwise.clear();
  EXPECT_EQ(count_after(rules), 7U);
  rules.dense.clear();
  EXPECT_EQ(count_after(rules), 8U);
}

TEST(IndependentSamples, OperatorsThatMixTheBatchAreFound) {
  EXPECT_TRUE(samples_are_independent(one_node("Softmax", {4, 8}, {{"axis", int64_t{1}}}), 4));
  EXPECT_FALSE(samples_are_independent(one_node("Softmax", {4, 8}, {{"axis", int64_t{-2}}}), 4));
  EXPECT_TRUE(samples_are_independent(one_node("Transpose", {4, 8, 2}, {{"perm", std::vector<int64_t>{0, 2, 1}}}), 4));
  EXPECT_FALSE(samples_are_independent(one_node("Transpose", {4, 4}, {{"perm", std::vector<int64_t>{1, 0}}}), 4));
  EXPECT_FALSE(samples_are_independent(one_node("ReduceMean", {4, 8}, {{"axes", std::vector<int64_t>{0}}}), 4));
  EXPECT_FALSE(samples_are_independent(one_node("Relu", {4, 8}, {}), 2));

  GraphBuilder rows;
  const ValueId x = rows.input({4, 8});
  EXPECT_FALSE(samples_are_independent(rows.finish({rows.node("Add", {x, rows.weights({4, 8})})}), 4));
  GraphBuilder channels;
  const ValueId y = channels.input({4, 8});
  EXPECT_TRUE(samples_are_independent(channels.finish({channels.node("Add", {y, channels.weights({8})})}), 4));
  GraphBuilder outer;
  const ValueId z = outer.input({4, 4});
  EXPECT_FALSE(samples_are_independent(outer.finish({outer.node("MatMul", {z, z})}), 4));
}

// The rows that suppression keeps, as numbers: nobody knows how many.
ValueId kept_rows(GraphBuilder& b, ValueId boxes) {
  const ValueId scores = b.constant(floats({1, 1, 3}, {0.5F, 0.9F, 0.7F})), most = b.constant(testing::integers({3}));
  return b.node("Cast", {b.node("NonMaxSuppression", {boxes, scores, most})}, {{"to", int64_t{1}}});
}
ValueId sum_of_rows(GraphBuilder& b, ValueId rows) { return b.node("ReduceSum", {rows, b.constant(testing::integers({0}))}); }

TEST(JoinSizedByData, WhatHasNoSizeBecomesOneNodeThatHas) {
  GraphBuilder b;
  const ValueId boxes = b.node("Abs", {b.input({1, 3, 4})});
  const ValueId rows = kept_rows(b, boxes);
  const ValueId first = sum_of_rows(b, rows), second = sum_of_rows(b, b.node("Mul", {rows, rows}));
  Graph graph = b.finish({b.node("Add", {first, second}), b.node("Relu", {first})});
  const Graph before = graph;
  join_sized_by_data(graph);
  EXPECT_NO_THROW(validate(graph));
  ASSERT_EQ(graph.nodes.size(), 4U);  // Abs, Region, Add, Relu
  EXPECT_EQ(graph.nodes[1].op, "Region");
  EXPECT_EQ(graph.nodes[1].outputs, (std::vector<ValueId>{first, second}));
  expect_same(before, graph, {1, 3, 4}, 1);
}

TEST(JoinSizedByData, LeavesWhatAnotherNodeStandsBetween) {
  GraphBuilder b;
  const ValueId rows = kept_rows(b, b.input({1, 3, 4}));
  const ValueId factors = b.node("Relu", {sum_of_rows(b, rows)});
  Graph graph = b.finish({sum_of_rows(b, b.node("Mul", {rows, factors}))});
  join_sized_by_data(graph);
  EXPECT_EQ(count_ops(graph, "Region"), 0U);
  Graph open = [] {
    GraphBuilder other;
    return other.finish({kept_rows(other, other.input({1, 3, 4}))});
  }();
  join_sized_by_data(open);  // an output without a size: nothing to be had
  EXPECT_EQ(count_ops(open, "Region"), 0U);
}

}  // namespace
}  // namespace deepgap
