#include "model/graph_tools.h"

#include "base/test_error.h"
#include "model/node_reader.h"
#include "model/onnx_test_files.h"
#include "model/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Graph zoo(const std::string& name) {
  ZooOptions options;
  return find_zoo_model(name, options)->build(options);
}

TEST(GraphTools, BindingTheBatchReachesEveryValue) {
  const Graph bound = bind_symbols(zoo("resnet18"), {{batch_symbol, 16}});
  for (size_t i = 0; i < bound.values.size(); ++i) EXPECT_NO_THROW(known_shape(bound, static_cast<ValueId>(i))) << bound.values[i].name;
  EXPECT_THAT(known_shape(bound, bound.outputs[0]), ElementsAre(16, 1000));
  EXPECT_EQ(bound.constants.begin()->second.data, zoo("resnet18").constants.begin()->second.data);
}

TEST(GraphTools, BindingOtherSizesInfersAnew) {
  const Graph graph = read_model(conv_model());
  const Graph bound = bind_shapes(graph, {{"x", {-1, 3, 20, 30}}});
  EXPECT_EQ(bound.values[bound.outputs[0]].dims, (Dims{{1, "N"}, {4, ""}, {20, ""}, {30, ""}}));
  EXPECT_THROW(bind_shapes(graph, {{"z", {1}}}), Error);
  EXPECT_THROW(bind_shapes(graph, {{"x", {1, 3}}}), Error);
  EXPECT_THROW(bind_shapes(graph, {{"x", {1, 3, 0, 4}}}), Error);
  EXPECT_THAT(input_error([&] { bind_shapes(graph, {{"x", {1, 5, 8, 8}}}); }), HasSubstr("'conv'"));
}

TEST(GraphTools, ASymbolIsOneSizeEverywhere) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  for (const std::string name : {"a", "b"}) {
    auto* shape = describe_value(graph->add_input(), name, {-1, -1})->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(1)->set_dim_param("length");
  }
  describe_value(graph->add_output(), "y", {});
  add_node(graph, "Add", {"a", "b"}, {"y"}, "add");
  const Graph read = read_model(model);
  EXPECT_EQ(read.values[read.outputs[0]].dims, (Dims{{1, "N"}, {1, "length"}}));
  const Graph bound = bind_shapes(read, {{"a", {2, 7}}});
  EXPECT_THAT(known_shape(bound, bound.inputs[1]), ElementsAre(2, 7));
}

// The file's hint for an unknown operator's result stays as long as it can be bound.
TEST(GraphTools, HintsForUnknownOperators) {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {-1, 4})
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("b");
  auto* hint = describe_value(graph->add_value_info(), "h", {-1, 9})->mutable_type()->mutable_tensor_type()->mutable_shape();
  hint->mutable_dim(0)->set_dim_param("b");
  describe_value(graph->add_output(), "y", {});
  add_node(graph, "Mystery", {"x"}, {"h"})->set_domain("com.example");
  add_node(graph, "Relu", {"h"}, {"y"});
  const Graph read = read_model(model);
  EXPECT_EQ(read.values[read.outputs[0]].dims, (Dims{{1, "N"}, {9, ""}}));
  const Graph bound = bind_symbols(read, {{batch_symbol, 5}});
  EXPECT_THAT(known_shape(bound, bound.outputs[0]), ElementsAre(5, 9));
}

TEST(GraphTools, ValidateNamesWhatIsWrong) {
  const Graph good = read_model(conv_model());
  EXPECT_NO_THROW(validate(good));
  const auto error = [&](auto change) {
    Graph graph = good;
    change(graph);
    return input_error([&] { validate(graph); });
  };
  EXPECT_THAT(error([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }), HasSubstr("'relu' reads 'c'"));
  EXPECT_THAT(error([](Graph& g) { g.nodes[1].name = "conv"; }), HasSubstr("two nodes"));
  EXPECT_THAT(error([](Graph& g) { g.nodes[1].name.clear(); }), HasSubstr("without a name"));
  EXPECT_THAT(error([](Graph& g) { g.values[1].name = g.values[0].name; }), HasSubstr("given twice"));
  EXPECT_THAT(error([](Graph& g) { g.nodes[1].inputs[0] = 99; }), HasSubstr("value 99"));
  EXPECT_THAT(error([](Graph& g) { g.nodes[1].outputs = g.nodes[0].outputs; }), HasSubstr("made elsewhere"));
  EXPECT_THAT(error([](Graph& g) { g.nodes.pop_back(); }), HasSubstr("output 'y'"));
  EXPECT_THAT(error([](Graph& g) { g.constants.begin()->second.shape = {1}; }), HasSubstr("differs"));
  EXPECT_THAT(error([](Graph& g) { g.constants.erase(g.constants.begin()); }), HasSubstr("nothing makes"));
}

TEST(GraphTools, AttributesOfAnotherTypeNameNodeAndAttribute) {
  Node node{"n", "Op", "", {}, {}, {{"axis", std::string("one")}}};
  EXPECT_EQ(attribute_int(node, "other", 3), 3);
  EXPECT_THAT(input_error([&] { attribute_int(node, "axis", 0); }), HasSubstr("node 'n' (Op): attribute 'axis'"));
}

TEST(GraphTools, ConsumersListEachReaderOnce) {
  pb::ModelProto model = empty_model();
  describe_value(model.mutable_graph()->add_input(), "x", {2});
  describe_value(model.mutable_graph()->add_output(), "y", {2});
  add_node(model.mutable_graph(), "Add", {"x", "x"}, {"y"});
  const Graph graph = read_model(model);
  EXPECT_THAT(consumers(graph)[static_cast<size_t>(graph.inputs[0])], ElementsAre(0));
}

// A ReduceSum of x over axes that are constant, or computed while the network runs.
Graph reduction(std::optional<Tensor> axes) {
  Graph graph;
  graph.values = {{"x", DataType::f32, Dims{{2, ""}, {3, ""}, {4, ""}}}, {"axes", DataType::i64, Dims{{1, ""}}}, {"y", DataType::f32, {}}};
  if (axes) graph.constants.emplace(1, *axes);
  graph.nodes = {{.name = "sum", .op = "ReduceSum", .inputs = {0, 1}, .outputs = {2}}};
  return graph;
}

template <typename T>
Tensor axes_tensor(DataType type, T axis) {
  Tensor axes = make_tensor(type, {1});
  writable<T>(axes)[0] = axis;
  return axes;
}

TEST(NodeReader, ReadsWhatIsConstantOrGiven) {
  const Graph constant = reduction(axes_tensor<int32_t>(DataType::i32, -1)), open = reduction(std::nullopt);
  const NodeReader reader{"native", constant, constant.nodes[0]}, of_open{"native", open, open.nodes[0]};
  EXPECT_THAT(reduced_axes(reader, 3), ElementsAre(2));
  EXPECT_FALSE(reader.is_open(1));
  EXPECT_TRUE(of_open.is_open(1));
  EXPECT_EQ(
      error_of([&] { of_open.integers(1); }, ErrorKind::refused),
      "native does not run operator ReduceSum (node 'sum'): its input 1 is computed while the network runs, only a constant is taken");
  const std::vector<Tensor> given{make_tensor(DataType::f32, {2, 3, 4}), axes_tensor<int64_t>(DataType::i64, 1)};
  EXPECT_THAT(reduced_axes({"the reference interpreter", open, open.nodes[0], given}, 3), ElementsAre(1)) << "all contents are known there";
}

TEST(NodeReader, AContradictionOfTheModelIsNamed) {
  const Graph outside = reduction(axes_tensor<int64_t>(DataType::i64, 3)), other = reduction(axes_tensor<float>(DataType::f32, 1));
  EXPECT_EQ(error_of(
                [&] {
                  reduced_axes({"native", outside, outside.nodes[0]}, 3);
                },
                ErrorKind::input),
            "node 'sum' (ReduceSum): axis 3 does not fit rank 3");
  EXPECT_THAT(error_of([&] { reduced_axes({"native", other, other.nodes[0]}, 3); }, ErrorKind::input), HasSubstr("expected integers"));
}

}  // namespace
}  // namespace deepgap
