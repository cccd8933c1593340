// Model-local functions: what a file's own operators become.
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"
#include "model/onnx_test_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

using testing::HasSubstr;
using Names = std::vector<std::string>;

pb::FunctionProto* add_function(pb::ModelProto& model, const std::string& name, const Names& inputs, const Names& outputs) {
  auto* function = model.add_functions();
  function->set_name(name);
  function->set_domain("mine");
  for (const std::string& input : inputs) function->add_input(input);
  for (const std::string& output : outputs) function->add_output(output);
  auto* import = function->add_opset_import();
  import->set_version(17);
  return function;
}

pb::NodeProto* add_inner(pb::FunctionProto* function, const std::string& op, const Names& inputs, const Names& outputs) {
  pb::GraphProto made;
  *function->add_node() = *add_node(&made, op, inputs, outputs);
  return function->mutable_node(function->node_size() - 1);
}

pb::NodeProto* call(pb::GraphProto* graph, const std::string& name, const Names& inputs, const Names& outputs,
                    const std::string& node = "") {
  auto* made = add_node(graph, name, inputs, outputs, node);
  made->set_domain("mine");
  return made;
}

void refer(pb::NodeProto* node, const std::string& attribute, const std::string& to) {
  add_attribute(node, attribute, pb::AttributeProto::FLOAT)->set_ref_attr_name(to);
}

// x [2] -> ... -> y [2], with the domain of the functions.
pb::ModelProto model_of_two() {
  pb::ModelProto model = empty_model(17);
  auto* import = model.add_opset_import();
  import->set_domain("mine"), import->set_version(1);
  describe_value(model.mutable_graph()->add_input(), "x", {2});
  describe_value(model.mutable_graph()->add_output(), "y", {2});
  return model;
}

std::vector<float> answer(const pb::ModelProto& model, std::vector<float> x) {
  const Graph graph = read_model(model);
  Tensor input = make_tensor(DataType::f32, {static_cast<int64_t>(x.size())});
  std::copy(x.begin(), x.end(), writable<float>(input).begin());
  const Tensor y = evaluate(graph, std::vector{input}).at(0);
  return {y.as<float>().begin(), y.as<float>().end()};
}

std::string error_of(const pb::ModelProto& model) {
  return input_error([&] { read_model(model); });
}

// A function that calls another, twice in the graph, with an attribute each and values of the same names.
TEST(OnnxFunctions, CallsBecomeNodes) {
  pb::ModelProto model = model_of_two();
  auto* leaky = add_function(model, "Leaky", {"X"}, {"Y"});
  leaky->add_attribute("slope");
  refer(add_inner(leaky, "LeakyRelu", {"X"}, {"t"}), "alpha", "slope");
  add_inner(leaky, "Neg", {"t"}, {"Y"});
  auto* block = add_function(model, "Block", {"X", "B"}, {"Y"});
  auto* inner = add_inner(block, "Leaky", {"X"}, {"t"});
  inner->set_domain("mine");
  add_attribute(inner, "slope", pb::AttributeProto::FLOAT)->set_f(0.5F);
  add_inner(block, "Add", {"t", "B"}, {"Y"});
  auto* graph = model.mutable_graph();
  add_floats(graph, "b", {2}, 3);
  call(graph, "Block", {"x", "b"}, {"h"}, "first");
  call(graph, "Block", {"h", "b"}, {"y"});
  EXPECT_EQ(answer(model, {1, -2}), (std::vector<float>{3 - (3 - 1), 3 - (3 + 1)}));
  EXPECT_EQ(read_model(model).nodes.size(), 6u);
}

TEST(OnnxFunctions, AttributesHaveDefaults) {
  pb::ModelProto model = model_of_two();
  auto* leaky = add_function(model, "Leaky", {"X"}, {"Y"});
  auto* slope = leaky->add_attribute_proto();
  slope->set_name("slope"), slope->set_type(pb::AttributeProto::FLOAT), slope->set_f(0.25F);
  refer(add_inner(leaky, "LeakyRelu", {"X"}, {"Y"}), "alpha", "slope");
  call(model.mutable_graph(), "Leaky", {"x"}, {"y"});
  EXPECT_EQ(answer(model, {1, -4}), (std::vector<float>{1, -1}));
  leaky->clear_attribute_proto();
  EXPECT_EQ(answer(model, {1, -100}), (std::vector<float>{1, -1})) << "what a call does not give is the operator's own default";
}

TEST(OnnxFunctions, InputsAndOutputsMayBeLeftOutOrPassedThrough) {
  pb::ModelProto model = model_of_two();
  auto* clip = add_function(model, "Cut", {"X", "least", "most"}, {"Y", "X", "unread"});
  add_inner(clip, "Clip", {"X", "least", "most"}, {"Y"});
  add_inner(clip, "Neg", {"Y"}, {"unread"});
  auto* graph = model.mutable_graph();
  add_floats(graph, "one", {}, 1);
  call(graph, "Cut", {"x", "", "one"}, {"cut", "same"});
  add_node(graph, "Add", {"cut", "same"}, {"y"});
  EXPECT_EQ(answer(model, {5, -5}), (std::vector<float>{6, -10}));
}

// Their values are the function's too.
TEST(OnnxFunctions, BodiesInsideOfFunctions) {
  pb::ModelProto model = model_of_two();
  auto* choose = add_function(model, "Choose", {"X"}, {"Y"});
  add_inner(choose, "Identity", {"X"}, {"t"});
  auto* constant = add_inner(choose, "Constant", {}, {"yes"});
  auto* content = add_attribute(constant, "value", pb::AttributeProto::TENSOR)->mutable_t();
  content->set_data_type(9), content->add_int32_data(1);
  auto* branch = add_inner(choose, "If", {"yes"}, {"Y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* body = add_attribute(branch, name, pb::AttributeProto::GRAPH)->mutable_g();
    body->set_name(name);
    add_node(body, "Neg", {"t"}, {"r"});
    body->add_output()->set_name("r");
  }
  call(model.mutable_graph(), "Choose", {"x"}, {"h"});
  call(model.mutable_graph(), "Choose", {"h"}, {"y"});
  EXPECT_EQ(answer(model, {5, -5}), (std::vector<float>{5, -5}));
}

TEST(OnnxFunctions, OneThatCallsItselfIsRefused) {
  pb::ModelProto model = model_of_two();
  add_inner(add_function(model, "A", {"X"}, {"Y"}), "B", {"X"}, {"Y"})->set_domain("mine");
  add_inner(add_function(model, "B", {"X"}, {"Y"}), "A", {"X"}, {"Y"})->set_domain("mine");
  call(model.mutable_graph(), "A", {"x"}, {"y"});
  EXPECT_THAT(error_of(model), HasSubstr("function 'A': it calls itself"));
}

// Each calls the next one ten times: 10^12 nodes from a small file.
TEST(OnnxFunctions, OnesThatMultiplyAreRefused) {
  pb::ModelProto model = model_of_two();
  for (int i = 0; i < 12; ++i) {
    auto* function = add_function(model, fmt::format("F{}", i), {"X"}, {"Y"});
    for (int k = 0; k < 10; ++k) {
      auto* inner = add_inner(function, i == 11 ? "Neg" : fmt::format("F{}", i + 1), {k == 0 ? "X" : fmt::format("t{}", k)},
                              {k == 9 ? "Y" : fmt::format("t{}", k + 1)});
      if (i < 11) inner->set_domain("mine");
    }
  }
  call(model.mutable_graph(), "F0", {"x"}, {"y"});
  EXPECT_THAT(error_of(model), HasSubstr("more than 200000 nodes"));
}

TEST(OnnxFunctions, OnesThatNestTooDeepAreRefused) {
  pb::ModelProto model = model_of_two();
  for (int i = 0; i < 100; ++i) {
    auto* inner =
        add_inner(add_function(model, fmt::format("F{}", i), {"X"}, {"Y"}), i == 99 ? "Neg" : fmt::format("F{}", i + 1), {"X"}, {"Y"});
    if (i < 99) inner->set_domain("mine");
  }
  call(model.mutable_graph(), "F0", {"x"}, {"y"});
  EXPECT_THAT(error_of(model), HasSubstr("more than 64 deep"));
}

// Long names of nested calls would grow without the file growing.
TEST(OnnxFunctions, OnesWithLongNamesAreRefused) {
  pb::ModelProto model = model_of_two();
  auto* function = add_function(model, "F", {"X"}, {"Y"});
  for (int k = 0; k < 1000; ++k) add_inner(function, "Neg", {"X"}, {k == 0 ? "Y" : fmt::format("t{}", k)});
  for (int k = 0; k < 100; ++k)
    call(model.mutable_graph(), "F", {"x"}, {k == 0 ? "y" : fmt::format("u{}", k)}, fmt::format("{}{}", k, std::string(10'000, 'a')));
  EXPECT_THAT(error_of(model), HasSubstr("names of more than 256 MiB"));
}

TEST(OnnxFunctions, OneOfAnotherOpsetNeedsTheSameOperators) {
  pb::ModelProto model = model_of_two();
  auto* function = add_function(model, "F", {"X"}, {"Y"});
  add_inner(function, "Softmax", {"X"}, {"Y"});
  call(model.mutable_graph(), "F", {"x"}, {"y"});
  function->mutable_opset_import(0)->set_version(13);
  EXPECT_EQ(error_of(model), "");
  function->mutable_opset_import(0)->set_version(12);
  EXPECT_THAT(error_of(model), HasSubstr("function 'F': it is written for opset 12, the file for 17, and Softmax differs between them"));
}

TEST(OnnxFunctions, WhatDoesNotFitIsNamed) {
  pb::ModelProto model = model_of_two();
  add_inner(add_function(model, "F", {"X"}, {"Y"}), "Neg", {"X"}, {"Y"});
  call(model.mutable_graph(), "F", {"x", "x"}, {"y"}, "it");
  EXPECT_THAT(error_of(model), HasSubstr("function 'F': it has 1 inputs and 1 outputs, node 'it' gives 2 and 1"));
  model.mutable_graph()->mutable_node(0)->mutable_input()->RemoveLast();
  refer(model.mutable_graph()->mutable_node(0), "alpha", "slope");
  EXPECT_THAT(error_of(model), HasSubstr("outside of a function"));
  model.mutable_graph()->mutable_node(0)->clear_attribute();
  *model.add_functions() = model.functions(0);
  EXPECT_THAT(error_of(model), HasSubstr("function 'F': it is given twice"));
  model.mutable_functions()->RemoveLast();
  model.mutable_functions(0)->mutable_node(0)->set_input(0, "nothing");
  EXPECT_THAT(error_of(model), HasSubstr("which nothing makes"));
}

}  // namespace
}  // namespace deepgap
