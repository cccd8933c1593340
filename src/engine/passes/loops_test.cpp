#include "engine/passes/loops.h"

#include "engine/passes/test_graphs.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::GraphBuilder;

// x = x + shift * scale, where the constant `scale` and the input `shift` stand around the body.
Graph shifting(bool collects) {
  GraphBuilder net, body;
  const ValueId x = net.input({-1, 4});
  net.input({-1, 4}, "shift");
  net.graph.values[static_cast<size_t>(net.constant(testing::floats({4}, {1, 2, 3, 4})))].name = "scale";
  body.graph.inputs = {body.value("i", Dims{}, DataType::i64), body.value("on", Dims{}, DataType::boolean)};
  const ValueId inside = body.input({-1, 4}, "inside"), shift = body.value("shift"), scale = body.value("scale");
  const ValueId next = body.node("Add", {inside, body.node("Mul", {shift, scale})});
  body.graph.outputs = {body.graph.inputs[1], next};
  if (collects) body.graph.outputs.push_back(next);
  const Attribute loop = std::make_shared<const Graph>(body.graph);
  const ValueId result = net.node("Loop", {no_value, no_value, x}, {{"body", loop}});
  if (collects) net.graph.nodes.back().outputs.push_back(net.value("all"));
  return net.finish({result});
}

TEST(Loops, TakeInWhatTheyRead) {
  Graph graph = shifting(false);
  close_loops(graph);
  const Node& node = graph.nodes.at(0);
  ASSERT_TRUE(is_closed_loop(node));
  EXPECT_EQ(node.inputs, (std::vector<ValueId>{no_value, no_value, graph.inputs[0], graph.inputs[1]}));
  EXPECT_EQ(loop_body(node).inputs.size(), 4U);
  EXPECT_EQ(loop_body(node).constants.size(), 1U);
  EXPECT_EQ(carried_by(node), 1U);
  EXPECT_TRUE(captured_names(loop_body(node)).empty());
}

TEST(Loops, HaveSizesWithTheBatch) {
  Graph graph = shifting(false);
  close_loops(graph);
  EXPECT_FALSE(keeps_sizes(graph.nodes.at(0)));
  graph = bind_symbols(graph, {{batch_symbol, 3}});
  bind_loops(graph);
  EXPECT_TRUE(keeps_sizes(graph.nodes.at(0)));
  EXPECT_EQ(known_shape(graph, graph.outputs[0]), (Shape{3, 4}));
}

TEST(Loops, ThatCollectStay) {
  Graph graph = shifting(true);
  close_loops(graph);
  EXPECT_EQ(graph.nodes.at(0).domain, "");
}

}  // namespace
}  // namespace deepgap
