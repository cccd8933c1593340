// Operators that the reference interpreter lacks, so that the conformance suite has nothing to compare them with, and sides of others
// that it does not draw. Expected values follow from the ONNX specification by hand.
#include "backends/libtorch/lone_node.h"
#include "backends/libtorch/torch_program.h"
#include "backends/libtorch/torch_types.h"
#include "model/graph_tools.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

Tensor floats(Shape shape, const Floats& values) {
  Tensor tensor = make_tensor(DataType::f32, std::move(shape));
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}
Tensor ints(const Ints& values) {
  Tensor tensor = make_tensor(DataType::i64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), writable<int64_t>(tensor).begin());
  return tensor;
}

struct OneNode : LoneNode {
  std::vector<at::Tensor> run(const at::Tensor& x) const {
    const Graph made = graph_of(*this, x.sizes().vec());
    TorchProgram program(made, {});
    auto results = program.run(1, std::span(&x, 1), nullptr);
    for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].sizes().vec(), known_shape(made, made.outputs[i]));
    return results;
  }
};

at::Tensor counting(Ints shape) { return at::arange(1, element_count(shape) + 1, at::kFloat).reshape(shape); }

void expect_values(const at::Tensor& actual, const Floats& expected) {
  const at::Tensor wanted = at::tensor(expected);
  ASSERT_EQ(actual.numel(), wanted.numel());
  EXPECT_TRUE(at::allclose(actual.reshape({-1}), wanted, 1e-4, 1e-4)) << actual;
}

// Sizes of x that only the run knows.
Graph with_open_sizes(const LoneNode& node, size_t rank) {
  Graph graph = graph_of(node, Shape(rank, 1));
  for (Value& value : graph.values)
    if (!graph.constants.contains(static_cast<ValueId>(&value - graph.values.data()))) value.dims.reset();
  Dims& dims = graph.values[0].dims.emplace();
  for (size_t i = 0; i < rank; ++i) dims.push_back({1, "size" + std::to_string(i)});
  infer_shapes(graph);
  return graph;
}

TEST(TorchOperators, SizesMayChangeFromRunToRun) {
  const auto axis = [](int64_t axis) { return std::map<std::string, Attribute>{{"axis", axis}}; };
  const std::vector<LoneNode> nodes{{"Reshape", {}, {ints({0, -1})}},
                                    {"Flatten", axis(1)},
                                    {"Flatten", axis(-1)},
                                    {"Unsqueeze", {}, {ints({-1, 0})}},
                                    {"Expand", {}, {ints({2, 1, 1, 1})}},
                                    {"Tile", {}, {ints({1, 2, 3})}},
                                    {"Transpose"},
                                    {"Slice", {}, {ints({-2}), ints({INT64_MAX}), ints({2})}},
                                    {"Slice", {}, {ints({-1}), ints({INT64_MIN}), ints({2}), ints({-1})}},
                                    {"Gather", axis(-1), {ints({-1, 0})}},
                                    {"Trilu", {{"upper", int64_t{0}}}},
                                    {"Softmax", axis(-1)},
                                    {"ReduceMean", {{"axes", Ints{-1}}}},
                                    {"ReduceMax", {{"axes", Ints{-1}}}},
                                    {"CumSum", {}, {ints({1})}}};
  for (const LoneNode& node : nodes) {
    const Graph open = with_open_sizes(node, 3);
    TorchProgram program(open, {});
    for (const Ints& shape : {Ints{2, 3, 4}, Ints{1, 5, 2}}) {
      const at::Tensor x = counting(shape);
      const at::Tensor found = program.run(1, std::span(&x, 1), nullptr)[0], wanted = OneNode{node}.run(x)[0];
      EXPECT_EQ(found.sizes(), wanted.sizes()) << node.op;
      EXPECT_TRUE(at::allclose(found, wanted)) << node.op << found << wanted;
    }
  }
  const LoneNode squeeze{"Squeeze", {}, {ints({-2})}};
  const Graph open = with_open_sizes(squeeze, 3);
  const at::Tensor x = counting({4, 1, 2});
  EXPECT_EQ(TorchProgram(open, {}).run(1, std::span(&x, 1), nullptr)[0].sizes(), (Ints{4, 2}));
}

TEST(TorchOperators, RangesAndShapesOfOpenSizes) {
  const Graph shape = with_open_sizes({"Shape", {{"start", int64_t{-2}}}}, 3);
  const at::Tensor x = counting({2, 3, 4});
  EXPECT_TRUE(at::equal(TorchProgram(shape, {}).run(1, std::span(&x, 1), nullptr)[0], at::tensor(Ints{3, 4})));
}

TEST(TorchOperators, TransposedConvolution) {
  const Tensor ones = floats({1, 1, 2, 2}, {1, 1, 1, 1});
  const at::Tensor x = counting({1, 1, 2, 2});
  expect_values(OneNode{"ConvTranspose", {}, {ones}}.run(x)[0], {1, 3, 2, 4, 10, 6, 3, 7, 4});
  expect_values(OneNode{"ConvTranspose", {{"pads", Ints{0, 0, 1, 1}}}, {ones}}.run(x)[0], {1, 3, 4, 10});
  expect_values(OneNode{"ConvTranspose", {{"pads", Ints{1, 1, 1, 1}}}, {ones}}.run(x)[0], {10});
  const OneNode strided{"ConvTranspose", {{"strides", Ints{2, 2}}, {"output_padding", Ints{0, 1}}, {"pads", Ints{1, 0, 0, 0}}}, {ones}};
  expect_values(strided.run(x)[0], {1, 1, 2, 2, 0, 3, 3, 4, 4, 0, 3, 3, 4, 4, 0});
  const OneNode same{"ConvTranspose", {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}, {ones}};
  expect_values(same.run(x)[0], {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});
}

TEST(TorchOperators, Resize) {
  const at::Tensor x = counting({1, 1, 1, 2});
  const Tensor doubled = floats({4}, {1, 1, 1, 2});
  const auto mode = [](const char* text) { return Attribute(std::string(text)); };
  const OneNode nearest{
      "Resize",
      {{"mode", mode("nearest")}, {"coordinate_transformation_mode", mode("asymmetric")}, {"nearest_mode", mode("floor")}},
      {{}, doubled}};
  expect_values(nearest.run(x)[0], {1, 1, 2, 2});
  expect_values(OneNode{"Resize", {{"mode", mode("linear")}}, {{}, doubled}}.run(x)[0], {1, 1.25, 1.75, 2});
  const OneNode corners{
      "Resize", {{"mode", mode("linear")}, {"coordinate_transformation_mode", mode("align_corners")}}, {{}, {}, ints({1, 1, 1, 3})}};
  expect_values(corners.run(x)[0], {1, 1.5, 2});
  const OneNode up{"Resize", {{"mode", mode("nearest")}, {"nearest_mode", mode("ceil")}}, {{}, doubled}};
  expect_values(up.run(x)[0], {1, 2, 2, 2});
  const OneNode smooth{"Resize", {{"mode", mode("linear")}, {"antialias", int64_t{1}}}, {{}, floats({4}, {1, 1, 1, 0.5})}};
  expect_values(smooth.run(counting({1, 1, 1, 4}))[0], {1.625, 3.375});
}

// Places alone, the values left out.
TEST(TorchOperators, TopKWithoutItsValues) {
  const OneNode top{"TopK", {}, {ints({1})}, 17, 2};
  Graph graph = graph_of(top, {1, 3});
  graph.nodes[0].outputs[0] = no_value;
  graph.outputs = {graph.nodes[0].outputs[1]};
  const at::Tensor x = at::tensor(Floats{1, 5, 2}).reshape({1, 3});
  TorchProgram program(graph, {});
  EXPECT_EQ(program.run(1, std::span(&x, 1), nullptr)[0].item<int64_t>(), 1);
}

TEST(TorchOperators, Activations) {
  const at::Tensor x = at::tensor(Floats{-1, 0, 2});
  expect_values(OneNode{"Elu", {{"alpha", 2.0f}}}.run(x)[0], {-1.26424f, 0, 2});
  expect_values(OneNode{"Softplus", {}}.run(x)[0], {0.313262f, 0.693147f, 2.126928f});
  expect_values(OneNode{"Gelu", {}, {}, 20}.run(x)[0], {-0.158655f, 0, 1.954500f});
  expect_values(OneNode{"Gelu", {{"approximate", std::string("tanh")}}, {}, 20}.run(x)[0], {-0.158808f, 0, 1.954598f});
  expect_values(OneNode{"PRelu", {}, {floats({1}, {0.5})}}.run(x)[0], {-0.5, 0, 2});
  expect_values(OneNode{"Clip", {{"min", 0.0f}, {"max", 1.0f}}, {}, 6}.run(x)[0], {0, 0, 1});
}

TEST(TorchOperators, Normalisation) {
  const at::Tensor x = at::tensor(Floats{1, 2, 3}).reshape({1, 3});
  expect_values(OneNode{"LayerNormalization", {}, {floats({3}, {1, 1, 2}), floats({3}, {0, 1, 0})}}.run(x)[0], {-1.22473f, 1, 2.44946f});
  const at::Tensor old = at::tensor(Floats{1, 1, 1, 1}).reshape({1, 2, 2});
  expect_values(OneNode{"Softmax", {}, {}, 11}.run(old)[0], {0.25, 0.25, 0.25, 0.25});
  expect_values(OneNode{"Softmax", {}, {}, 13}.run(old)[0], {0.5, 0.5, 0.5, 0.5});
}

TEST(TorchOperators, Moves) {
  const at::Tensor x = counting({1, 4});
  expect_values(OneNode{"Slice", {}, {ints({3}), ints({-9}), ints({1}), ints({-2})}}.run(x)[0], {4, 2});
  expect_values(OneNode{"Slice", {{"starts", Ints{-2}}, {"ends", Ints{100}}, {"axes", Ints{1}}}, {}, 9}.run(x)[0], {3, 4});
  expect_values(OneNode{"Gather", {{"axis", int64_t{1}}}, {ints({-1, 0})}}.run(x)[0], {4, 1});
  const auto parts = OneNode{"Split", {{"axis", int64_t{1}}}, {ints({1, 3})}, 17, 2}.run(x);
  expect_values(parts[0], {1});
  expect_values(parts[1], {2, 3, 4});
  const at::Tensor row = counting({1, 1, 3});
  expect_values(OneNode{"Pad", {{"mode", std::string("edge")}}, {ints({0, 0, 1, 0, 0, 0})}}.run(row)[0], {1, 1, 2, 3});
  expect_values(OneNode{"Pad", {{"mode", std::string("reflect")}}, {ints({0, 0, 0, 0, 0, 2})}}.run(row)[0], {1, 2, 3, 2, 1});
  expect_values(OneNode{"Tile", {}, {ints({1, 2})}}.run(counting({1, 2}))[0], {1, 2, 1, 2});
}

TEST(TorchOperators, UnevenPools) {
  const at::Tensor x = counting({1, 1, 1, 3});
  const std::map<std::string, Attribute> window{{"kernel_shape", Ints{1, 2}}, {"pads", Ints{0, 1, 0, 0}}};
  expect_values(OneNode{"AveragePool", window}.run(x)[0], {1, 1.5, 2.5});
  auto counted = window;
  counted["count_include_pad"] = int64_t{1};
  expect_values(OneNode{"AveragePool", counted}.run(x)[0], {0.5, 1.5, 2.5});
  expect_values(OneNode{"MaxPool", window}.run(-x)[0], {-1, -1, -2});
  const OneNode up{"AveragePool", {{"kernel_shape", Ints{1, 2}}, {"strides", Ints{1, 2}}, {"ceil_mode", int64_t{1}}}};
  expect_values(up.run(x)[0], {1.5, 3});
}

// In between, a matrix has as many columns as values are not zero.
TEST(TorchOperators, WhatTheDataSizeIsComputedBetweenKnownSizes) {
  Graph graph;
  graph.opset = 17;
  graph.values = {{"x", DataType::f32, Dims{{2, ""}, {3, ""}}},
                  {"shifted", DataType::f32, {}},
                  {"places", DataType::i64, {}},
                  {"numbers", DataType::f32, {}},
                  {"sum", DataType::f32, {}},
                  {"y", DataType::f32, {}}};
  graph.inputs = {0};
  graph.outputs = {5};
  graph.nodes = {{"relu", "Relu", "", {0}, {1}, {}},
                 {"find", "NonZero", "", {1}, {2}, {}},
                 {"cast", "Cast", "", {2}, {3}, {{"to", int64_t{1}}}},
                 {"sum", "ReduceSum", "", {3}, {4}, {{"keepdims", int64_t{0}}}},
                 {"negate", "Neg", "", {4}, {5}, {}}};
  infer_shapes(graph);
  const at::Tensor x = at::tensor(Floats{0, 1, -1, 2, 0, 3}).reshape({2, 3});
  for (const at::ScalarType floats : {at::kFloat, at::kBFloat16}) {
    TorchTarget target;
    target.floats = floats;
    TorchProgram program(graph, target);
    expect_values(program.run(1, std::span(&x, 1), nullptr)[0].to(at::kFloat), {-5});  // rows 0, 1, 1 and columns 1, 0, 2
  }
  TorchTarget captured;
  captured.replayed = true;
  try {
    TorchProgram(graph, captured).prepare(1);
    FAIL() << "a CUDA graph would hold what the host computes";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_NE(std::string(error.what()).find("operator NonZero (node 'find')"), std::string::npos) << error.what();
  }
}

TEST(TorchOperators, RefusedByName) {
  const auto refusal = [](const OneNode& node) {
    try {
      node.run(counting({1, 4}));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::refused);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal({"Frobnicate", {}}), "libtorch does not run operator Frobnicate (node 'one')");
  EXPECT_EQ(refusal({"BatchNormalization",
                     {{"training_mode", int64_t{1}}},
                     {floats({4}, Floats(4)), floats({4}, Floats(4)), floats({4}, Floats(4)), floats({4}, Floats(4))}}),
            "libtorch does not run operator BatchNormalization (node 'one'): training_mode is not run");
}

}  // namespace
}  // namespace deepgap
