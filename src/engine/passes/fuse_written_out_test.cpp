// Operators that exporters wrote out: Gelu, LayerNormalization, attention.
#include "engine/passes/attention.h"
#include "engine/passes/passes.h"
#include "engine/passes/test_graphs.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"

#include <gtest/gtest.h>

#include <numbers>

namespace deepgap {
namespace {

using testing::count_ops;
using testing::floats;
using testing::GraphBuilder;

ValueId number(GraphBuilder& b, float value) { return b.constant(floats({}, {value})); }

void expect_alone(const Graph& graph, const std::string& op, ValueId x, int form) {
  ASSERT_EQ(graph.nodes.size(), 1U) << form;
  EXPECT_EQ(graph.nodes[0].op, op) << form;
  EXPECT_EQ(graph.nodes[0].inputs, std::vector<ValueId>{x}) << form;
}

ValueId one_plus_erf(GraphBuilder& b, ValueId x, bool divides) {
  const ValueId scaled = divides ? b.node("Div", {x, number(b, std::numbers::sqrt2_v<float>)})
                                 : b.node("Mul", {number(b, 1 / std::numbers::sqrt2_v<float>), x});
  return b.node("Add", {b.node("Erf", {scaled}), number(b, 1)});
}

TEST(FuseGelus, FindsTheFactorsInAnyOrder) {
  for (int order = 0; order < 3; ++order) {
    GraphBuilder b;
    const ValueId x = b.input({2, 3}), sum = one_plus_erf(b, x, order != 1), half = number(b, 0.5F);
    const ValueId out = order == 0   ? b.node("Mul", {b.node("Mul", {x, sum}), half})
                        : order == 1 ? b.node("Mul", {b.node("Mul", {x, half}), sum})
                                     : b.node("Mul", {x, b.node("Mul", {half, sum})});
    Graph graph = b.finish({out});
    fuse_gelus(graph);
    expect_alone(graph, "Gelu", x, order);
  }
}

TEST(FuseGelus, LeavesWhatIsNone) {
  GraphBuilder b;
  const ValueId x = b.input({2, 3}), y = b.input({2, 3}, "y");
  Graph graph = b.finish({b.node("Mul", {b.node("Mul", {y, one_plus_erf(b, x, true)}), number(b, 0.5F)}),
                          b.node("Mul", {b.node("Mul", {x, one_plus_erf(b, x, true)}), number(b, 0.25F)})});
  fuse_gelus(graph);
  EXPECT_EQ(count_ops(graph, "Gelu"), 0U);
}

TEST(FuseHardSwishes, FindsEachWayOfWritingIt) {
  for (int way = 0; way < 4; ++way) {
    GraphBuilder b;
    const ValueId x = b.input({2, 3});
    const auto clipped = [&] { return b.node("Clip", {b.node("Add", {number(b, 3), x}), number(b, 0), number(b, 6)}); };
    const std::map<std::string, Attribute> slope{{"alpha", 1.0F / 6}, {"beta", 0.5F}};
    const ValueId out = way == 0   ? b.node("Div", {b.node("Mul", {x, clipped()}), number(b, 6)})
                        : way == 1 ? b.node("Mul", {number(b, 1.0F / 6), b.node("Mul", {clipped(), x})})
                        : way == 2 ? b.node("Mul", {x, b.node("Div", {clipped(), number(b, 6)})})
                                   : b.node("Mul", {b.node("HardSigmoid", {x}, slope), x});
    Graph graph = b.finish({out});
    fuse_hard_swishes(graph);
    expect_alone(graph, "HardSwish", x, way);
  }
}

TEST(FuseHardSwishes, LeavesWhatIsNone) {
  GraphBuilder b;
  const ValueId x = b.input({2, 3}), y = b.input({2, 3}, "y");
  const auto clipped = [&](float shift, float top) {
    return b.node("Clip", {b.node("Add", {x, number(b, shift)}), number(b, 0), number(b, top)});
  };
  Graph graph = b.finish(
      {b.node("Div", {b.node("Mul", {y, clipped(3, 6)}), number(b, 6)}), b.node("Div", {b.node("Mul", {x, clipped(2, 6)}), number(b, 6)}),
       b.node("Div", {b.node("Mul", {x, clipped(3, 1)}), number(b, 6)}), b.node("Div", {b.node("Mul", {x, clipped(3, 6)}), number(b, 5)})});
  fuse_hard_swishes(graph);
  EXPECT_EQ(count_ops(graph, "HardSwish"), 0U);
}

ValueId layer_norm(GraphBuilder& b, ValueId x, bool power, int64_t axis) {
  const std::map<std::string, Attribute> axes{{"axes", std::vector<int64_t>{axis}}};
  const ValueId centered = b.node("Sub", {x, b.node("ReduceMean", {x}, axes)});
  const ValueId squared = power ? b.node("Pow", {centered, number(b, 2)}) : b.node("Mul", {centered, centered});
  const ValueId root = b.node("Sqrt", {b.node("Add", {b.node("ReduceMean", {squared}, axes), number(b, 1e-3F)})});
  return b.node("Add", {b.node("Mul", {b.node("Div", {centered, root}), b.weights({3})}), b.weights({3})});
}

TEST(FuseLayerNorms, TakesWhatWasWrittenOut) {
  for (const bool power : {false, true}) {
    GraphBuilder b;
    Graph graph = b.finish({layer_norm(b, b.input({2, 4, 3}), power, power ? -1 : 2)});
    const Graph before = graph;
    fuse_layer_norms(graph);
    ASSERT_EQ(graph.nodes.size(), 1U);
    EXPECT_EQ(graph.nodes[0].op, "LayerNormalization");
    std::mt19937 random(1);
    const std::vector<Tensor> inputs{testing::random_tensor({2, 4, 3}, random)};
    EXPECT_GT(testing::sqnr_db(evaluate(before, inputs)[0], evaluate(graph, inputs)[0].as<float>()), 110);
  }
}

TEST(FuseLayerNorms, OverAnotherAxisItStays) {
  GraphBuilder b;
  Graph graph = b.finish({layer_norm(b, b.input({2, 3, 3}), true, 1)});
  fuse_layer_norms(graph);
  EXPECT_EQ(count_ops(graph, "LayerNormalization"), 0U);
}

// A node may leave its first output out, such as a TopK whose places alone are read.
TEST(FuseLayerNorms, NodesWithoutAFirstOutput) {
  GraphBuilder b;
  const ValueId x = b.input({2, 4});
  Graph graph = b.finish({b.node("Relu", {x})});
  Node top{"top", "TopK", "", {x}, {no_value, x}, {}};
  top.outputs[1] = static_cast<ValueId>(graph.values.size());
  graph.values.push_back({"places", DataType::i64, std::nullopt});
  graph.outputs.push_back(top.outputs[1]);
  graph.nodes.push_back(top);
  fuse_layer_norms(graph);
  EXPECT_EQ(graph.nodes.size(), 2U);
}

std::map<std::string, Attribute> order(const std::vector<int64_t>& axes) { return {{"perm", axes}}; }

TEST(FuseAttention, TakesTransposesScaleAndMask) {
  GraphBuilder b;
  const Shape shape{2, 5, 3, 4};  // batch, position, head, depth
  const ValueId q = b.node("Transpose", {b.input(shape, "q")}, order({0, 2, 1, 3}));
  const ValueId k = b.node("Transpose", {b.input(shape, "k")}, order({0, 2, 3, 1}));
  const ValueId v = b.node("Transpose", {b.input(shape, "v")}, order({0, 2, 1, 3}));
  const ValueId scores = b.node("Div", {b.node("MatMul", {q, k}), number(b, 2)});
  const ValueId weights = b.node("Softmax", {b.node("Add", {b.input({2, 1, 1, 5}, "mask"), scores})});
  Graph graph = b.finish({b.node("Transpose", {b.node("MatMul", {weights, v})}, order({0, 2, 1, 3}))});
  fuse_attention(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  ASSERT_TRUE(is_attention(graph.nodes[0]));
  const Attention attention = attention_of(graph.nodes[0]);
  EXPECT_EQ(attention.batch, 2);
  EXPECT_EQ(attention.heads, 3);
  EXPECT_EQ(attention.queries, 5);
  EXPECT_EQ(attention.keys, 5);
  EXPECT_EQ(attention.depth, 4);
  EXPECT_EQ(attention.columns, 4);
  EXPECT_FLOAT_EQ(attention.scale, 0.5F);
  using Steps = std::array<int64_t, 4>;
  EXPECT_EQ(attention.query.steps, (Steps{60, 4, 12, 1}));
  EXPECT_EQ(attention.key.steps, (Steps{60, 4, 1, 12}));
  EXPECT_EQ(attention.value.steps, (Steps{60, 4, 12, 1}));
  EXPECT_EQ(attention.result, (Steps{60, 4, 12, 1}));
  ASSERT_TRUE(attention.mask.has_value());
  EXPECT_EQ(attention.mask->steps, (Steps{5, 0, 0, 1}));
}

TEST(FuseAttention, LeavesScoresThatOthersRead) {
  GraphBuilder b;
  const ValueId weights = b.node("Softmax", {b.node("MatMul", {b.input({2, 5, 4}, "q"), b.input({2, 4, 5}, "k")})});
  Graph graph = b.finish({b.node("MatMul", {weights, b.input({2, 5, 4}, "v")}), weights});
  fuse_attention(graph);
  EXPECT_EQ(count_ops(graph, "Attention"), 0U);
}

TEST(FuseAttention, LeavesASoftmaxOverAnotherAxis) {
  GraphBuilder b;
  const ValueId scores = b.node("MatMul", {b.input({2, 5, 4}, "q"), b.input({2, 4, 5}, "k")});
  const ValueId weights = b.node("Softmax", {scores}, {{"axis", int64_t{1}}});
  Graph graph = b.finish({b.node("MatMul", {weights, b.input({2, 5, 4}, "v")})});
  fuse_attention(graph);
  EXPECT_EQ(count_ops(graph, "Attention"), 0U);
}

// x times weights and, with `biased`, a bias, as the heads of attention read it.
ValueId projection(GraphBuilder& b, ValueId x, int64_t columns, bool biased, const std::vector<int64_t>& axes) {
  ValueId rows = b.node("MatMul", {x, b.weights({6, columns})});
  if (biased) rows = b.node("Add", {b.weights({columns}), rows});
  const ValueId heads = b.node("Reshape", {rows, b.constant(testing::integers({0, 0, 2, -1}))});
  return b.node("Transpose", {heads}, order(axes));
}

// Self-attention of x, or attention of x to `to`.
Graph attention_between(GraphBuilder& b, ValueId x, ValueId to, bool biased) {
  const ValueId q = projection(b, x, 8, biased, {0, 2, 1, 3}), k = projection(b, to, 8, biased, {0, 2, 3, 1});
  const ValueId v = projection(b, to, 10, biased, {0, 2, 1, 3});
  const ValueId scores = b.node("Add", {b.node("Div", {b.node("MatMul", {q, k}), number(b, 2)}), b.input({-1, 1, 1, 5}, "mask")});
  return b.finish({b.node("MatMul", {b.node("Softmax", {scores}), v})});
}

void expect_same(const Graph& before, const Graph& after, size_t inputs) {
  std::mt19937 random(3);
  std::vector<Tensor> values;
  for (size_t i = 0; i < inputs; ++i)
    values.push_back(testing::random_tensor(i + 1 == inputs ? Shape{2, 1, 1, 5} : Shape{2, 5, 6}, random));
  EXPECT_GT(testing::sqnr_db(evaluate(bind_symbols(before, {{batch_symbol, 2}}), values)[0],
                             evaluate(bind_symbols(after, {{batch_symbol, 2}}), values)[0].as<float>()),
            110);
}

TEST(JoinProjections, OfOneValueAreOneProduct) {
  for (const bool biased : {true, false})
    for (const int opset : {12, 17}) {
      GraphBuilder b;
      b.graph.opset = opset;
      const ValueId x = b.input({-1, 5, 6});
      const Graph before = attention_between(b, x, x, biased);
      Graph graph = before;
      join_projections(graph);
      remove_dead(graph);
      validate(graph);
      EXPECT_EQ(count_ops(graph, "MatMul"), 3U);
      ASSERT_EQ(count_ops(graph, "Split"), 1U);
      expect_same(before, graph, 2);
    }
}

TEST(JoinProjections, KeyAndValueOfAnother) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 5, 6}), to = b.input({-1, 5, 6}, "to");
  const Graph before = attention_between(b, x, to, true);
  Graph graph = before;
  join_projections(graph);
  validate(graph);
  EXPECT_EQ(count_ops(graph, "MatMul"), 4U);
  expect_same(before, graph, 3);
}

// One whose rows others read, too, is not part of a longer row; two remain.
TEST(JoinProjections, LeavesWhatOthersRead) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 5, 6});
  Graph graph = attention_between(b, x, x, false);
  graph.outputs.push_back(graph.nodes[0].outputs[0]);
  join_projections(graph);
  validate(graph);
  EXPECT_EQ(count_ops(graph, "MatMul"), 4U);
}

}  // namespace
}  // namespace deepgap
