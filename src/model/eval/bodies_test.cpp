#include "model/eval/bodies.h"

#include "model/control_flow.h"
#include "model/eval/evaluator.h"
#include "model/eval/test_node.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;

struct Body {
  Graph graph;
  ValueId value(const std::string& name, DataType type = DataType::f32) {
    graph.values.push_back({name, type, std::nullopt});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  ValueId input(const std::string& name, DataType type = DataType::f32) {
    graph.inputs.push_back(value(name, type));
    return graph.inputs.back();
  }
  ValueId node(const std::string& op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {}) {
    const ValueId made = value(op + std::to_string(graph.nodes.size()));
    graph.nodes.push_back({op + std::to_string(graph.nodes.size()), op, "", std::move(inputs), {made}, std::move(attributes)});
    return made;
  }
  Attribute as_attribute(std::vector<ValueId> outputs) {
    graph.outputs = std::move(outputs);
    return std::make_shared<const Graph>(graph);
  }
};

// Where the flag is set x + x, else -x; the branches read x by its name.
Graph choice() {
  Body yes, no, net;
  const ValueId x = yes.value("x");
  const Attribute then_branch = yes.as_attribute({yes.node("Add", {x, x})});
  const Attribute else_branch = no.as_attribute({no.node("Neg", {no.value("x")})});
  net.input("x");
  const ValueId flag = net.input("flag", DataType::boolean);
  net.graph.outputs = {net.node("If", {flag}, {{"then_branch", then_branch}, {"else_branch", else_branch}})};
  return net.graph;
}

TEST(Bodies, DataChooseABranch) {
  EXPECT_THAT(list_floats(evaluate(choice(), std::vector{floats({2}, {1, 2}), flags({}, {1})})[0]), ElementsAre(2, 4));
  EXPECT_THAT(list_floats(evaluate(choice(), std::vector{floats({2}, {1, 2}), flags({}, {0})})[0]), ElementsAre(-1, -2));
  EXPECT_THROW(evaluate(choice(), std::vector{floats({2}, {1, 2}), flags({2}, {0, 1})}), Error);
}

// s = s + x, as often as `count` says and while s is below `limit`; each s is kept.
Graph sums() {
  Body body, net;
  body.input("i", DataType::i64);
  body.input("on", DataType::boolean);
  const ValueId s = body.input("s"), x = body.value("x"), limit = body.value("limit");
  const ValueId next = body.node("Add", {s, x});
  const ValueId on = body.node("Less", {next, limit});
  const Attribute loop = body.as_attribute({on, next, next});
  const ValueId count = net.input("count", DataType::i64), start = net.input("start");
  net.input("x");
  net.input("limit");
  const ValueId last = net.node("Loop", {count, no_value, start}, {{"body", loop}});
  net.graph.nodes[0].outputs.push_back(net.value("all"));
  net.graph.outputs = {last, net.graph.nodes[0].outputs[1]};
  return net.graph;
}

std::vector<Tensor> run_sums(int64_t count, float limit) {
  return evaluate(sums(), std::vector{longs({}, {count}), floats({}, {0}), floats({}, {2}), floats({}, {limit})});
}

TEST(Bodies, DataEndALoop) {
  const auto by_count = run_sums(3, 100);
  EXPECT_THAT(list_floats(by_count[0]), ElementsAre(6));
  EXPECT_THAT(list_floats(by_count[1]), ElementsAre(2, 4, 6));
  EXPECT_THAT(list_floats(run_sums(100, 4)[1]), ElementsAre(2, 4));
  const auto never = run_sums(0, 100);
  EXPECT_THAT(list_floats(never[0]), ElementsAre(0));
  EXPECT_EQ(never[1].shape[0], 0);
  EXPECT_THROW(run_sums(most_iterations + 1, 1e30f), Error);
}

// Each Loop is within its own limit.
TEST(Bodies, LoopsInLoopsAreLimitedInAll) {
  Body inner, outer, net;
  inner.input("i", DataType::i64);
  const ValueId inner_on = inner.input("inner_on", DataType::boolean);
  const Attribute innermost = inner.as_attribute({inner_on, inner.input("t")});
  outer.input("j", DataType::i64);
  const ValueId on = outer.input("on", DataType::boolean), s = outer.input("s");
  const ValueId next = outer.node("Loop", {outer.value("count", DataType::i64), no_value, s}, {{"body", innermost}});
  const Attribute body = outer.as_attribute({on, next});
  const ValueId count = net.input("count", DataType::i64), x = net.input("x");
  net.graph.outputs = {net.node("Loop", {count, no_value, x}, {{"body", body}})};
  EXPECT_THAT(list_floats(evaluate(net.graph, std::vector{longs({}, {100}), floats({}, {3})})[0]), ElementsAre(3));
  try {
    evaluate(net.graph, std::vector{longs({}, {most_iterations}), floats({}, {3})});
    FAIL() << "it ended";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "node 'Loop0' (Loop): it runs more than 10000000 nodes of bodies");
  }
}

TEST(Bodies, OptionalTensors) {
  EXPECT_EQ(list<uint8_t>(TestNode{"OptionalHasElement", {}, 18}.run({floats({1}, {1})})), (std::vector<uint8_t>{1}));
  EXPECT_EQ(list<uint8_t>(TestNode{"OptionalHasElement", {}, 18}.run({})), (std::vector<uint8_t>{0}));
  EXPECT_THAT(list_floats(TestNode{"OptionalGetElement", {}, 18}.run({floats({1}, {1})})), ElementsAre(1));
}

TEST(Bodies, DropoutThatTrainsByNothing) {
  const TestNode node{"Dropout", {}, 13, 2};
  EXPECT_THAT(list_floats(node.run({floats({1}, {3}), floats({}, {0}), flags({}, {1})})), ElementsAre(3));
  EXPECT_THROW(node.run({floats({1}, {3}), floats({}, {0.5f}), flags({}, {1})}), Error);
  EXPECT_THROW(node.run({floats({1}, {3}), floats({}, {0.5f}), flags({0}, {})}), Error);
}

TEST(Bodies, MasksOfOldDropouts) {
  EXPECT_EQ((TestNode{"Dropout", {}, 9, 2}.run_all({floats({1}, {3})})[1].type), DataType::f32);
  EXPECT_EQ((TestNode{"Dropout", {}, 10, 2}.run_all({floats({1}, {3})})[1].type), DataType::boolean);
}

// The greatest of nothing is false, the least is true.
TEST(Bodies, FlagsOfNothing) {
  const Tensor none = flags({2, 0}, {}), axes = longs({1}, {1});
  EXPECT_EQ(list<uint8_t>(TestNode{"ReduceMax", {}, 20}.run({none, axes})), (std::vector<uint8_t>{0, 0}));
  EXPECT_EQ(list<uint8_t>(TestNode{"ReduceMin", {}, 20}.run({none, axes})), (std::vector<uint8_t>{1, 1}));
}

}  // namespace
}  // namespace deepgap
