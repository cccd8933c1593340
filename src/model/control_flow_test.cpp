#include "model/control_flow.h"

#include "model/eval/evaluator.h"
#include "model/eval/test_node.h"
#include "model/graph_tools.h"
#include "model/onnx_test_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

pb::GraphProto* body(pb::NodeProto* node, const std::string& name) {
  auto* graph = add_attribute(node, name, pb::AttributeProto::GRAPH)->mutable_g();
  graph->set_name(name);
  return graph;
}

void add_integer(pb::GraphProto* graph, const std::string& name, int64_t value) {
  auto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(pb::TensorProto::INT64);
  tensor->add_int64_data(value);
}
void add_flag(pb::GraphProto* graph, const std::string& name, bool value) {
  auto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(pb::TensorProto::BOOL);
  tensor->add_int32_data(value ? 1 : 0);
}

// A float output that a body computes, or takes from outside.
void add_output(pb::GraphProto* graph, const std::string& name) { graph->add_output()->set_name(name); }

// x [N,2] of one input; what `graph` adds makes y.
pb::ModelProto model_around(const std::function<void(pb::GraphProto*)>& add, int64_t opset = 17) {
  pb::ModelProto model = empty_model(opset);
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {-1, 2});
  add(graph);
  graph->add_output()->set_name("y");
  graph->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  return model;
}

// y = x + x where the condition holds, else x * x; both branches call their result the same.
void add_choice(pb::GraphProto* graph, const std::string& condition, const std::string& result = "y", const std::string& name = "choice") {
  auto* node = add_node(graph, "If", {condition}, {result}, name);
  auto* yes = body(node, "then_branch");
  add_node(yes, "Add", {"x", "x"}, {"inner"});
  add_output(yes, "inner");
  auto* no = body(node, "else_branch");
  add_node(no, "Mul", {"x", "x"}, {"inner"});
  add_output(no, "inner");
}

Graph inlined(const pb::ModelProto& model) {
  Graph graph = read_model(model);
  inline_control_flow(graph);
  return graph;
}
Graph inlined_within(size_t most_work, const pb::ModelProto& model) {
  Graph graph = read_model(model);
  inline_control_flow(graph, most_work);
  return graph;
}

std::vector<float> result(const Graph& graph) { return list_floats(evaluate(graph, std::vector<Tensor>{floats({1, 2}, {3, 4})}).at(0)); }

int64_t count_of(const Graph& graph, const std::string& op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op == op; });
}

TEST(ControlFlow, ConstantCondition) {
  for (const bool condition : {true, false}) {
    const Graph graph = inlined(model_around([&](pb::GraphProto* net) {
      add_flag(net, "c", condition);
      add_choice(net, "c");
    }));
    EXPECT_EQ(count_of(graph, "If"), 0);
    EXPECT_THAT(result(graph), condition ? ElementsAre(6, 8) : ElementsAre(9, 16));
    EXPECT_EQ(graph.nodes[0].name, condition ? "choice/Add_0" : "choice/Mul_0");
    EXPECT_NO_THROW(validate(graph));
  }
}

// The batch is open, the size that decides is not.
TEST(ControlFlow, ConditionOnASize) {
  const Graph graph = inlined(model_around([](pb::GraphProto* net) {
    add_node(net, "Shape", {"x"}, {"shape"});
    add_integer(net, "one", 1);
    add_integer(net, "two", 2);
    add_node(net, "Gather", {"shape", "one"}, {"columns"});
    add_node(net, "Equal", {"columns", "two"}, {"c"});
    add_choice(net, "c");
  }));
  EXPECT_THAT(result(graph), ElementsAre(6, 8));
  EXPECT_EQ(count_of(graph, "Equal"), 0);
}

TEST(ControlFlow, Nested) {
  const Graph graph = inlined(model_around([](pb::GraphProto* net) {
    add_flag(net, "c", true);
    auto* outer = add_node(net, "If", {"c"}, {"y"});
    auto* yes = body(outer, "then_branch");
    add_node(yes, "Neg", {"x"}, {"negative"});
    add_flag(yes, "d", false);
    auto* inner = add_node(yes, "If", {"d"}, {"z"});
    auto* never = body(inner, "then_branch");
    add_node(never, "Relu", {"negative"}, {"r"});
    add_output(never, "r");
    add_output(body(inner, "else_branch"), "negative");
    add_output(yes, "z");
    add_output(body(outer, "else_branch"), "x");
  }));
  EXPECT_THAT(result(graph), ElementsAre(-3, -4));
}

TEST(ControlFlow, WhatDataDecideStays) {
  const Graph graph = inlined(model_around([](pb::GraphProto* net) {
    add_node(net, "ReduceMax", {"x"}, {"largest"});
    add_attribute(add_node(net, "Cast", {"largest"}, {"c"}), "to", pb::AttributeProto::INT)->set_i(9);
    add_choice(net, "c");
  }));
  EXPECT_EQ(count_of(graph, "If"), 1);
  EXPECT_THAT(result(graph), ElementsAre(6, 8));  // the evaluator runs it
}

// Carries s, adding x and the iteration's number, and collects it; `add_condition` makes "goes_on" of "i".
void add_loop(pb::GraphProto* net, const std::string& trips, const std::string& condition,
              const std::function<void(pb::GraphProto*)>& add_condition, const std::vector<std::string>& outputs) {
  auto* node = add_node(net, "Loop", {trips, condition, "x"}, outputs, "loop");
  auto* inside = body(node, "body");
  describe_value(inside->add_input(), "i", {}, 7);
  describe_value(inside->add_input(), "on", {}, 9);
  describe_value(inside->add_input(), "s", {-1, 2});
  add_attribute(add_node(inside, "Cast", {"i"}, {"number"}), "to", pb::AttributeProto::INT)->set_i(1);
  add_node(inside, "Add", {"s", "x"}, {"more"});
  add_node(inside, "Add", {"more", "number"}, {"next"});
  add_condition(inside);
  add_output(inside, "goes_on");
  add_output(inside, "next");
  add_node(inside, "Identity", {"next"}, {"copy"});
  describe_value(inside->add_output(), "copy", {1, 2});
}
void pass_on(pb::GraphProto* inside) { add_node(inside, "Identity", {"on"}, {"goes_on"}); }

TEST(ControlFlow, LoopByCount) {
  const Graph graph = inlined(model_around([](pb::GraphProto* net) {
    add_integer(net, "three", 3);
    add_loop(net, "three", "", pass_on, {"y"});
  }));
  EXPECT_THAT(result(graph), ElementsAre(4 * 3 + 3, 4 * 4 + 3));
  EXPECT_EQ(count_of(graph, "Loop"), 0);
}

TEST(ControlFlow, LoopThatCollects) {
  for (const int64_t opset : {11, 17}) {
    const Graph graph = inlined(model_around(
        [](pb::GraphProto* net) {
          add_integer(net, "two", 2);
          add_loop(net, "two", "", pass_on, {"", "y"});
        },
        opset));
    const Tensor y = evaluate(graph, std::vector<Tensor>{floats({1, 2}, {3, 4})}).at(0);
    EXPECT_EQ(y.shape, (Shape{2, 1, 2}));
    EXPECT_THAT(list_floats(y), ElementsAre(6, 8, 10, 13));
  }
}

// Exporters write "while" so: as a count that nobody reaches.
TEST(ControlFlow, LoopByCondition) {
  const Graph graph = inlined(model_around([](pb::GraphProto* net) {
    add_integer(net, "most", INT64_MAX);
    add_flag(net, "yes", true);
    const auto below_two = [](pb::GraphProto* inside) {
      add_integer(inside, "limit", 1);
      add_node(inside, "Less", {"i", "limit"}, {"goes_on"});
    };
    add_loop(net, "most", "yes", below_two, {"y"});
  }));
  EXPECT_THAT(result(graph), ElementsAre(3 * 3 + 1, 3 * 4 + 1));
}

TEST(ControlFlow, LoopThatDoesNotBegin) {
  const Graph graph = inlined(model_around([](pb::GraphProto* net) {
    add_integer(net, "three", 3);
    add_flag(net, "no", false);
    add_loop(net, "three", "no", pass_on, {"y"});
  }));
  EXPECT_THAT(result(graph), ElementsAre(3, 4));
}

TEST(ControlFlow, LoopsThatStay) {
  const auto data_decide = [](pb::GraphProto* inside) {
    add_node(inside, "ReduceMax", {"next"}, {"largest"});
    add_attribute(add_node(inside, "Cast", {"largest"}, {"goes_on"}), "to", pb::AttributeProto::INT)->set_i(9);
  };
  const Graph graph = inlined(model_around([&](pb::GraphProto* net) {
    add_integer(net, "three", 3);
    add_loop(net, "three", "", data_decide, {"y"});
  }));
  EXPECT_EQ(count_of(graph, "Loop"), 1);
  EXPECT_EQ(graph.nodes.size(), 1U);  // nothing is left of the attempt
  const Graph longer = inlined(model_around([](pb::GraphProto* net) {
    add_integer(net, "many", most_iterations + 1);
    add_loop(net, "many", "", pass_on, {"y"});
  }));
  EXPECT_EQ(count_of(longer, "Loop"), 1);
}

TEST(ControlFlow, LoopWithoutEnd) {
  const auto message = input_error([] {
    inlined(model_around([](pb::GraphProto* net) {
      add_flag(net, "yes", true);
      auto* node = add_node(net, "Loop", {"", "yes", "x"}, {"y"}, "forever");
      auto* inside = body(node, "body");
      describe_value(inside->add_input(), "i", {}, 7);
      describe_value(inside->add_input(), "on", {}, 9);
      describe_value(inside->add_input(), "s", {-1, 2});
      add_output(inside, "on");
      add_output(inside, "s");
    }));
  });
  EXPECT_EQ(message, "node 'forever' (Loop): it has not ended after 10000 iterations");
}

// Each Loop of it is within its own limits.
TEST(ControlFlow, LoopsInLoopsAreLimitedInAll) {
  const auto message = input_error([] {
    inlined_within(2'000'000, model_around([](pb::GraphProto* net) {
                     add_integer(net, "many", most_iterations);
                     auto* node = add_node(net, "Loop", {"many", "", "x"}, {"y"}, "outer");
                     auto* inside = body(node, "body");
                     describe_value(inside->add_input(), "outer_i", {}, 7);
                     describe_value(inside->add_input(), "outer_on", {}, 9);
                     describe_value(inside->add_input(), "x_now", {-1, 2});
                     auto* inner = add_node(inside, "Loop", {"many", "", "x_now"}, {"x_next"}, "inner");
                     auto* innermost = body(inner, "body");
                     describe_value(innermost->add_input(), "i", {}, 7);
                     describe_value(innermost->add_input(), "on", {}, 9);
                     describe_value(innermost->add_input(), "s", {-1, 2});
                     add_node(innermost, "Add", {"s", "x"}, {"s_next"});
                     add_output(innermost, "on");
                     add_output(innermost, "s_next");
                     add_output(inside, "outer_on");
                     add_output(inside, "x_next");
                   }));
  });
  EXPECT_THAT(message, HasSubstr("the Loops, Scans and Ifs of the file take more work than 2000000 steps to unroll"));
}

TEST(ControlFlow, BranchesThatDoNotFit) {
  const auto error_with = [](const std::function<void(pb::GraphProto*, pb::GraphProto*)>& fill) {
    return input_error([&] {
      inlined(model_around([&](pb::GraphProto* net) {
        add_flag(net, "c", true);
        auto* node = add_node(net, "If", {"c"}, {"y"}, "choice");
        auto* yes = body(node, "then_branch");
        fill(yes, body(node, "else_branch"));
      }));
    });
  };
  EXPECT_THAT(error_with([](pb::GraphProto* yes, pb::GraphProto*) { add_output(yes, "x"); }),
              HasSubstr("it has 1 outputs, its branches 1 and 0"));
  EXPECT_THAT(error_with([](pb::GraphProto* yes, pb::GraphProto* no) {
                add_node(yes, "Identity", {"x"}, {"second"});
                for (const char* output : {"x", "second"}) add_output(yes, output);
                add_output(no, "x");
              }),
              HasSubstr("it has 1 outputs, its branches 2 and 1"));
  EXPECT_THAT(error_with([](pb::GraphProto* yes, pb::GraphProto* no) {
                describe_value(yes->add_input(), "given", {1, 2}, 1);
                add_output(yes, "given");
                add_output(no, "x");
              }),
              HasSubstr("its branches have inputs, which nothing gives"));
  const auto of_types = [](pb::GraphProto* yes, pb::GraphProto* no) {
    add_node(yes, "Identity", {"x"}, {"a"});
    describe_value(yes->add_output(), "a", {1, 2}, 1);
    add_node(no, "Shape", {"x"}, {"b"});
    describe_value(no->add_output(), "b", {2}, 7);
  };
  EXPECT_THAT(error_with(of_types), HasSubstr("its branches differ: output 0 is float32 in one and int64 in the other"));
}

TEST(ControlFlow, AScanOfMoreInputsThanItHasIsMalformed) {
  for (const int64_t asked : {-1, 0, 5}) {
    const std::string message = input_error([&] {
      inlined(model_around([&](pb::GraphProto* net) {
        auto* node = add_node(net, "Scan", {"x"}, {"y"}, "scan");
        add_output(body(node, "body"), "x");
        add_attribute(node, "num_scan_inputs", pb::AttributeProto::INT)->set_i(asked);
      }));
    });
    EXPECT_THAT(message, HasSubstr(fmt::format("num_scan_inputs is {}, and it has 1 inputs", asked)));
  }
}

TEST(ControlFlow, NamesStayUnique) {
  const Graph graph = inlined(model_around([](pb::GraphProto* net) {
    add_flag(net, "c", true);
    add_node(net, "Relu", {"x"}, {"choice/inner"}, "choice/Add_0");
    add_choice(net, "c", "z");
    add_node(net, "Sub", {"z", "choice/inner"}, {"y"});
  }));
  EXPECT_NO_THROW(validate(graph));
  EXPECT_THAT(result(graph), ElementsAre(3, 4));
}

}  // namespace
}  // namespace deepgap
