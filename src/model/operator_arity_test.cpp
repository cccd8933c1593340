#include "model/operator_arity.h"

#include "model/eval/evaluator.h"
#include "model/graph_tools.h"
#include "model/onnx_test_files.h"
#include "model/quantized_operators.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

using Names = std::vector<std::string>;

// One node between inputs "a", "b", ... and outputs; what it is said to be wrong with.
std::string fault_of(const std::string& op, const Names& inputs, const Names& outputs, int opset, const std::string& domain = "") {
  pb::ModelProto model = empty_model(opset);
  auto* graph = model.mutable_graph();
  for (const std::string& input : std::set<std::string>(inputs.begin(), inputs.end()))
    if (!input.empty()) describe_value(graph->add_input(), input, {2, 2});
  if (inputs.empty()) describe_value(graph->add_input(), "x", {2, 2});
  describe_value(graph->add_output(), outputs.back(), {2, 2});
  add_node(graph, op, inputs, outputs, "it")->set_domain(domain);
  return input_error([&] { read_model(model); });
}

TEST(OperatorArity, FindsTheDefinitionOfAnOpset) {
  EXPECT_EQ(arity_of("BatchNormalization", 13)->outputs, "x????");
  EXPECT_EQ(arity_of("BatchNormalization", 14)->outputs, "x??");
  EXPECT_EQ(arity_of("LayerNormalization", 11)->inputs, "xx?") << "engines take it before the opset that has it";
  EXPECT_EQ(arity_of("Upsample", 17)->since, 9) << "the last definition of an operator that went";
  EXPECT_FALSE(arity_of("Frobnicate", 17));
}

TEST(OperatorArity, NodesHaveTheInputsOfTheirDefinition) {
  EXPECT_EQ(fault_of("LayerNormalization", {"a"}, {"y"}, 17),
            "t.onnx: node 'it' (LayerNormalization): it has 1 input, expected 2 to 3 in opset 17");
  EXPECT_EQ(fault_of("QLinearConv", {}, {"y"}, 10), "t.onnx: node 'it' (QLinearConv): it has 0 inputs, expected 8 to 9 in opset 10");
  EXPECT_EQ(fault_of("Relu", {"a", "b"}, {"y"}, 17), "t.onnx: node 'it' (Relu): it has 2 inputs, expected 1 in opset 17");
  EXPECT_EQ(fault_of("Concat", {}, {"y"}, 17), "t.onnx: node 'it' (Concat): it has 0 inputs, expected at least 1 in opset 17");
  EXPECT_EQ(fault_of("Add", {"", "b"}, {"y"}, 17), "t.onnx: node 'it' (Add): input 0 is missing");
  EXPECT_EQ(fault_of("Concat", {"a", "", "b"}, {"y"}, 17), "t.onnx: node 'it' (Concat): input 1 is missing");
}

TEST(OperatorArity, NodesHaveTheOutputsOfTheirDefinition) {
  EXPECT_EQ(fault_of("NegativeLogLikelihoodLoss", {"a", "b"}, {"y", "z"}, 17),
            "t.onnx: node 'it' (NegativeLogLikelihoodLoss): it has 2 outputs, expected 1 in opset 17");
  EXPECT_EQ(fault_of("TopK", {"a", "b"}, {"y"}, 17), "t.onnx: node 'it' (TopK): it has 1 output, expected 2 in opset 17");
  EXPECT_EQ(fault_of("BatchNormalization", {"a", "b", "b", "b", "b"}, {"y", "m", "v", "s"}, 17),
            "t.onnx: node 'it' (BatchNormalization): it has 4 outputs, expected 1 to 3 in opset 17");
}

// Nothing makes the outputs that the operator has in training mode alone.
TEST(OperatorArity, StatisticsOfANormalizationThatDoesNotTrain) {
  EXPECT_EQ(fault_of("BatchNormalization", {"a", "b", "b", "b", "b"}, {"y", "m", "v"}, 17),
            "t.onnx: node 'it' (BatchNormalization): output 2 ('v') is made in training only, and something reads it");
  pb::ModelProto model = empty_model(9);
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {1, 2, 3, 3});
  describe_value(graph->add_output(), "y", {1, 2, 3, 3});
  add_floats(graph, "s", {2});
  add_node(graph, "BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "mean", "variance", "saved_mean", "saved_variance"});
  EXPECT_EQ(read_model(model).nodes[0].outputs.size(), 1u) << "as exporters of old opsets write them, and nothing reads them";
}

// A node that reads what its definition lets it leave out, in the middle.
TEST(OperatorArity, OutputsThatAreAlwaysMadeGetAName) {
  pb::ModelProto model = empty_model(17);
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {6});
  describe_value(graph->add_output(), "c", {2});
  auto* split = add_node(graph, "Split", {"x"}, {"a", "", "c"}, "split");
  add_attribute(split, "axis", pb::AttributeProto::INT)->set_i(0);
  const Graph read = read_model(model);
  ASSERT_EQ(read.nodes[0].outputs.size(), 3u);
  EXPECT_EQ(read.values[static_cast<size_t>(read.nodes[0].outputs[1])].name, "split.output1");
}

TEST(OperatorArity, BodiesAreChecked) {
  pb::ModelProto model = empty_model(17);
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "c", {}, 9);
  describe_value(graph->add_output(), "y", {2});
  auto* branch = add_node(graph, "If", {"c"}, {"y"}, "branch");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* body = add_attribute(branch, name, pb::AttributeProto::GRAPH)->mutable_g();
    body->set_name(name);
    add_floats(body, "one", {2});
    add_node(body, "LayerNormalization", {"one"}, {std::string(name) + ".r"}, "inner");
    body->add_output()->set_name(std::string(name) + ".r");
  }
  EXPECT_EQ(input_error([&] { read_model(model); }),
            "t.onnx: node 'inner' (LayerNormalization): it has 1 input, expected 2 to 3 in opset 17");
}

// They have no opset. An engine that reads the file itself may end by a signal of what is missing.
TEST(OperatorArity, OperatorsOfMicrosoftHaveTheInputsOfTheirDefinition) {
  const auto fault = [](const std::string& op, const Names& inputs, const Names& outputs) {
    return fault_of(op, inputs, outputs, 17, "com.microsoft");
  };
  EXPECT_EQ(fault("FusedConv", {"a"}, {"y"}), "t.onnx: node 'it' (FusedConv): it has 1 input, expected 2 to 4");
  EXPECT_EQ(fault("MatMulNBits", {"a", "", "b"}, {"y"}), "t.onnx: node 'it' (MatMulNBits): input 1 is missing");
  EXPECT_EQ(fault("QLinearConcat", {"a", "b"}, {"y"}), "t.onnx: node 'it' (QLinearConcat): it has 2 inputs, expected at least 3");
  EXPECT_EQ(fault("FusedConv", {"a", "b"}, {"y", "z"}), "t.onnx: node 'it' (FusedConv): it has 2 outputs, expected 1");
  EXPECT_EQ(fault("FusedConv", {"a", "b"}, {"y"}), "");
  EXPECT_EQ(fault_of("FusedConv", {"a"}, {"y"}, 17, "com.example"), "") << "another's operator";
}

// The replacement checks that an input is there before it takes it.
TEST(OperatorArity, OperatorsOfMicrosoftWithInputsLeftOut) {
  for (const std::string& op : quantized_operators()) {
    for (size_t count = 0; count < 12; ++count) {
      for (size_t missing = 0; missing <= count; ++missing) {
        Names inputs(count, "a");
        if (missing < count) inputs[missing] = "";
        const std::string fault = fault_of(op, inputs, {"y"}, 17, "com.microsoft");
        if (!fault.empty()) {
          EXPECT_NE(fault.find("'it'"), std::string::npos) << fault;
        }
      }
    }
  }
}

// Every operator that has a table's row, a rule or a function with every number of inputs and outputs, among them those left out: never
// more than one line.
TEST(OperatorArity, AnyNumberOfInputsAndOutputsIsReadOrRefused) {
  std::set<std::string> names;
  for (const auto& list : {shape_inferred_operators(), evaluated_operators(), quantized_operators()})
    names.insert(list.begin(), list.end());
  for (const std::string& op : names) {
    for (const int opset : {7, 13, 21}) {
      for (size_t inputs = 0; inputs < 10; ++inputs) {
        for (size_t outputs = 1; outputs < 6; ++outputs) {
          pb::ModelProto model = empty_model(opset);
          auto* graph = model.mutable_graph();
          describe_value(graph->add_input(), "a", {2, 2});
          Names made;
          for (size_t i = 0; i < outputs; ++i) describe_value(graph->add_output(), made.emplace_back(fmt::format("y{}", i)), {2, 2});
          add_node(graph, op, Names(inputs, "a"), made, "it");
          input_error([&] { summarize(read_model(model)); });
        }
      }
    }
  }
}

}  // namespace
}  // namespace deepgap
