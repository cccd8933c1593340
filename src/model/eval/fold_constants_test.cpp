#include "model/eval/fold_constants.h"

#include "model/eval/test_node.h"
#include "model/graph_tools.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

// A float input x [2,4], constants, and nodes of one output each.
struct Net {
  Graph graph;

  Net() {
    graph.values.push_back({"x", DataType::f32, Dims{{2, ""}, {4, ""}}});
    graph.inputs.push_back(0);
  }
  ValueId constant(const Tensor& tensor) {
    Dims dims;
    for (const int64_t size : tensor.shape) dims.push_back({size, ""});
    const ValueId id = value(tensor.type, dims);
    graph.constants.emplace(id, tensor);
    return id;
  }
  ValueId node(const std::string& op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {}) {
    const ValueId id = value(DataType::f32, std::nullopt);
    graph.nodes.push_back({op + std::to_string(id), op, "", std::move(inputs), {id}, std::move(attributes)});
    return id;
  }
  Graph& folded(ValueId output) {
    graph.outputs = {output};
    infer_shapes(graph);
    fold_constants(graph);
    return graph;
  }

 private:
  ValueId value(DataType type, std::optional<Dims> dims) {
    graph.values.push_back({"v" + std::to_string(graph.values.size()), type, std::move(dims)});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
};

// The number of elements that are not zero is known when they are folded; the shape behind it then folds as well.
TEST(FoldConstants, GoOnWhereAResultGivesAShape) {
  Net net;
  const ValueId places = net.node("NonZero", {net.constant(flags({4}, {1, 0, 1, 1}))});
  const ValueId row = net.node("Squeeze", {places, net.constant(longs({1}, {0}))});
  const ValueId picked = net.node("Gather", {0, row}, {{"axis", int64_t{1}}});
  const ValueId columns = net.node("Gather", {net.node("Shape", {picked}, {{"start", int64_t{1}}}), net.constant(longs({1}, {0}))});
  const Graph& graph = net.folded(net.node("Expand", {picked, columns}));
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].op, "Gather");
  EXPECT_EQ(graph.values[static_cast<size_t>(picked)].dims, (Dims{{2, ""}, {3, ""}}));
  EXPECT_EQ(list<int64_t>(graph.constants.at(columns)), (Ints{3}));
}

// Inference does not follow floats.
TEST(FoldConstants, SizesComputedWithFloats) {
  Net net;
  const ValueId as_floats = net.node("Cast", {net.node("Shape", {0})}, {{"to", int64_t{1}}});
  const ValueId larger = net.node("Mul", {as_floats, net.constant(floats({2}, {1, 1.5f}))});
  const ValueId sizes = net.node("Cast", {larger}, {{"to", int64_t{7}}});
  const ValueId resized = net.node("Resize", {0, no_value, no_value, sizes});
  const Graph& graph = net.folded(net.node("Relu", {resized}));
  EXPECT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[0])].dims, (Dims{{2, ""}, {6, ""}}));
}

TEST(FoldConstants, WhatTheEvaluatorRefusesStays) {
  Net net;
  const ValueId small = net.constant(longs({1, 1, 1, 2}, {1, 2})), scales = net.constant(floats({4}, {1, 1, 0.5f, 0.5f}));
  const ValueId resized = net.node("Resize", {small, no_value, scales}, {{"mode", std::string("linear")}});
  EXPECT_EQ(net.folded(resized).nodes.size(), 1U);
}

}  // namespace
}  // namespace deepgap
