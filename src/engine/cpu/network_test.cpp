// Compiled networks against the reference interpreter, which computes the same Graph in another way.
#include "engine/cpu/network.h"

#include "engine/cpu/operators.h"
#include "engine/test_graphs.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace deepgap {
namespace {

using testing::floats;
using testing::GraphBuilder;
using testing::sqnr_db;

std::vector<std::vector<std::byte>> run(Network& network, const std::vector<Tensor>& inputs, int64_t batch) {
  const auto* plan = network.plan_for(batch);
  std::vector<const std::byte*> in;
  for (const auto& tensor : inputs) in.push_back(tensor.data.get());
  std::vector<std::vector<std::byte>> results;
  std::vector<std::byte*> out;
  for (const auto& shape : plan->outputs) {
    results.emplace_back(static_cast<size_t>(element_count(shape)) * 8);
    out.push_back(results.back().data());
  }
  network.run(*plan, in, out);
  network.run(*plan, in, out);  // the remains of the first run must not matter
  return results;
}

// Steps that run through the evaluator, by operator.
std::vector<std::string> slow_steps(const Network& network, int64_t batch) {
  std::vector<std::string> ops;
  for (const auto& step : network.plan_for(batch)->executable->steps())
    if (step.function && step.op != "Copy" && step.op != "Reorder") ops.push_back(step.op);
  return ops;
}

void expect_agrees(const Graph& graph, const std::vector<Shape>& input_shapes, uint32_t seed, double min_db = 110,
                   const std::vector<std::string>& slow = {}) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  for (const auto& shape : input_shapes) inputs.push_back(testing::random_tensor(shape, random));
  const auto expected = evaluate(graph, inputs);
  const int64_t batch = input_shapes[0][0];
  Network network(graph, {{batch}, 2, false});
  const auto got = run(network, inputs, batch);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const std::span<const float> values(reinterpret_cast<const float*>(got[i].data()), got[i].size() / 8);
    EXPECT_GT(sqnr_db(expected[i], values), min_db) << "output " << i;
  }
  EXPECT_THAT(slow_steps(network, batch), ::testing::UnorderedElementsAreArray(slow));
}

std::map<std::string, Attribute> window(int64_t kernel, int64_t stride, int64_t pad) {
  return {{"kernel_shape", std::vector<int64_t>{kernel, kernel}},
          {"strides", std::vector<int64_t>{stride, stride}},
          {"pads", std::vector<int64_t>{pad, pad, pad, pad}}};
}

TEST(CpuNetwork, HandComputedConvolution) {
  GraphBuilder b;
  const ValueId x = b.input({1, 1, 2, 2});
  const ValueId out = b.node("Relu", {b.node("Conv", {x, b.constant(floats({1, 1, 2, 2}, {1, 2, 3, -4})), b.constant(floats({1}, {10}))})});
  Network network(b.finish({out}), {{1}, 1, true});
  const auto got = run(network, {floats({1, 1, 2, 2}, {1, 1, 2, 4})}, 1);
  EXPECT_FLOAT_EQ(*reinterpret_cast<const float*>(got[0].data()), 3.0F);  // 1 + 2 + 6 - 16 + 10
}

TEST(CpuNetwork, RandomConvolutionChains) {
  const std::vector<std::string> activations{"Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish"};
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    GraphBuilder b(seed);
    auto pick = [&](std::initializer_list<int64_t> of) { return *(of.begin() + b.random() % of.size()); };
    int64_t channels = pick({1, 3, 8, 16, 20});
    const int64_t batch = pick({1, 2, 5}), size = pick({5, 8, 13});
    ValueId x = b.input({-1, channels, size, size});
    for (int layer = 0; layer < 3; ++layer) {
      const int64_t kernel = pick({1, 3, 5}), out = pick({4, 16, 24, 33});
      ValueId y = b.conv(x, channels, out, kernel, pick({1, 1, 2}), 1, pick({0, 1}) == 1);
      if (pick({0, 1}) == 1) y = b.batch_norm(y, out);
      if (pick({0, 1}) == 1) y = b.node(activations[b.random() % activations.size()], {y});
      if (pick({0, 1}) == 1) y = b.node("Add", {y, b.conv(y, out, out, 3, 1, out)});  // depthwise, with a residual
      x = b.node(activations[b.random() % activations.size()], {y});
      channels = out;
    }
    expect_agrees(b.finish({x}), {{batch, b.graph.values[static_cast<size_t>(b.graph.inputs[0])].dims->at(1).size, size, size}}, seed, 100);
  }
}

TEST(CpuNetwork, ResidualsThatMustNotBeOverwritten) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    GraphBuilder b(seed);
    const ValueId x = b.input({2, 16, 6, 6});
    const ValueId a = b.conv(x, 16, 16, 3);                         // read again below
    const ValueId own = b.node("Add", {b.conv(a, 16, 16, 1), a});   // its own input is the residual
    const ValueId in = b.node("Add", {b.conv(own, 16, 16, 3), x});  // the Graph's input is the residual
    const ValueId late = b.node("Mul", {b.node("Relu", {a}), in});  // a is still alive
    const ValueId twice = b.node("Add", {late, late});
    expect_agrees(b.finish({twice, own}), {{2, 16, 6, 6}}, seed);
  }
}

TEST(CpuNetwork, ConvolutionsWithOneAxisPadsAndDilations) {
  GraphBuilder b;
  const ValueId x = b.input({2, 4, 9});
  const ValueId one = b.node("Conv", {x, b.weights({6, 2, 3})}, {{"group", int64_t{2}}, {"dilations", std::vector<int64_t>{2}}});
  expect_agrees(b.finish({one}), {{2, 4, 9}}, 1);
  for (const std::string pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    GraphBuilder d;
    const ValueId y =
        d.node("Conv", {d.input({1, 3, 8, 8}), d.weights({8, 3, 3, 3})}, {{"auto_pad", pad}, {"strides", std::vector<int64_t>{2, 2}}});
    expect_agrees(d.finish({y}), {{1, 3, 8, 8}}, 3);
  }
}

TEST(CpuNetwork, ConvolutionInThreeDimensions) {
  GraphBuilder b;
  const ValueId x = b.input({1, 2, 3, 4, 5});
  const ValueId y = b.node("Conv", {x, b.constant(floats({1, 2, 2, 2, 2}, std::vector<float>(16, 1.0F)))});
  b.graph.values[static_cast<size_t>(y)].dims = testing::known_dims({1, 1, 2, 3, 4});
  b.graph.outputs = {y};
  Network network(b.graph, {{1}, 1, false});
  std::vector<float> ramp(120);
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i);
  const auto got = run(network, {floats({1, 2, 3, 4, 5}, ramp)}, 1);
  // The window's mean index is that of its first corner plus (60 + 20 + 5 + 1) / 2.
  EXPECT_FLOAT_EQ(reinterpret_cast<const float*>(got[0].data())[0], 16 * 43.0F);
  EXPECT_FLOAT_EQ(reinterpret_cast<const float*>(got[0].data())[23], 16 * (43.0F + 20 + 10 + 3));
}

// Follows the wording of the ONNX specification: every input element adds its weights to the window it stands for.
std::vector<float> scatter(const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& out, int64_t group, int64_t stride,
                           int64_t pad) {
  std::vector<float> y(static_cast<size_t>(element_count(out)));
  const auto in = x.shape;
  const int64_t per_group = w.shape[1], kernel = w.shape[2], rows = in[1] / group;
  for (int64_t n = 0; n < out[0]; ++n)
    for (int64_t c = 0; c < out[1]; ++c)
      std::fill_n(y.begin() + (n * out[1] + c) * out[2] * out[3], out[2] * out[3], bias.as<float>()[static_cast<size_t>(c)]);
  for (int64_t i = 0; i < element_count(in); ++i) {
    const int64_t n = i / (in[1] * in[2] * in[3]), c = i / (in[2] * in[3]) % in[1], row = i / in[3] % in[2], column = i % in[3];
    for (int64_t j = 0; j < per_group * kernel * kernel; ++j) {
      const int64_t target = c / rows * per_group + j / (kernel * kernel);
      const int64_t r = row * stride - pad + j / kernel % kernel, s = column * stride - pad + j % kernel;
      if (r < 0 || s < 0 || r >= out[2] || s >= out[3]) continue;
      y[static_cast<size_t>(((n * out[1] + target) * out[2] + r) * out[3] + s)] +=
          x.as<float>()[static_cast<size_t>(i)] * w.as<float>()[static_cast<size_t>(c * per_group * kernel * kernel + j)];
    }
  }
  return y;
}

TEST(CpuNetwork, TransposedConvolutions) {
  for (const int64_t group : {1, 2}) {
    for (const int64_t extra : {0, 1}) {
      GraphBuilder b(static_cast<uint32_t>(group));
      const Tensor w = testing::random_tensor({4, 6 / group, 3, 3}, b.random), bias = testing::random_tensor({6}, b.random);
      const Tensor x = testing::random_tensor({2, 4, 5, 5}, b.random);
      const ValueId y = b.node("ConvTranspose", {b.input(x.shape), b.constant(w), b.constant(bias)},
                               {{"group", group},
                                {"strides", std::vector<int64_t>{2, 2}},
                                {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                                {"output_padding", std::vector<int64_t>{extra, extra}}});
      const Shape shape{2, 6, 9 + extra, 9 + extra};
      b.graph.values[static_cast<size_t>(y)].dims = testing::known_dims(shape);
      b.graph.outputs = {y};
      Network network(b.graph, {{2}, 2, false});
      const auto got = run(network, {x}, 2);
      const auto expected = floats(shape, scatter(x, w, bias, shape, group, 2, 1));
      EXPECT_GT(sqnr_db(expected, std::span(reinterpret_cast<const float*>(got[0].data()), got[0].size() / 8)), 110);
    }
  }
}

TEST(CpuNetwork, ActivationsByTheirFormulas) {
  const std::vector<std::pair<std::string, double (*)(double)>> formulas{
      {"Elu", [](double x) { return x < 0 ? std::exp(x) - 1 : x; }},
      {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"HardSigmoid", [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"LeakyRelu", [](double x) { return x < 0 ? 0.01 * x : x; }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }}};
  for (const auto& [op, formula] : formulas) {
    GraphBuilder b;
    const Tensor x = testing::random_tensor({1, 100}, b.random, 3);
    const ValueId y = b.node(op, {b.input({1, 100})});
    b.graph.values[static_cast<size_t>(y)].dims = testing::known_dims({1, 100});
    b.graph.outputs = {y};
    Network network(b.graph, {{1}, 1, false});
    const auto got = run(network, {x}, 1);
    for (size_t i = 0; i < 100; ++i) {
      const double expected = formula(static_cast<double>(x.as<float>()[i]));
      EXPECT_NEAR(static_cast<double>(reinterpret_cast<const float*>(got[0].data())[i]), expected, 2e-6)
          << op << " of " << x.as<float>()[i];
    }
  }
}

TEST(CpuNetwork, Pools) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    GraphBuilder b(seed);
    const ValueId x = b.conv(b.input({2, 3, 13, 13}), 3, 20, 3);
    auto ceil = window(3, 2, 0);
    ceil["ceil_mode"] = int64_t{1};
    auto counted = window(3, 2, 1);
    counted["count_include_pad"] = int64_t{1};
    expect_agrees(
        b.finish({b.node("MaxPool", {x}, window(3, 2, 1)), b.node("MaxPool", {x}, ceil), b.node("AveragePool", {x}, window(2, 2, 0)),
                  b.node("AveragePool", {x}, window(3, 1, 1)), b.node("AveragePool", {x}, counted), b.node("AveragePool", {x}, ceil),
                  b.node("GlobalAveragePool", {x}), b.node("GlobalMaxPool", {x})}),
        {{2, 3, 13, 13}}, seed);
  }
}

TEST(CpuNetwork, ProductsAndGemm) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    GraphBuilder b(seed);
    const ValueId x = b.input({3, 5, 8});
    const ValueId q = b.node("Add", {b.node("MatMul", {x, b.weights({8, 6})}), b.weights({6})});
    const ValueId k =
        b.node("Transpose", {b.node("Relu", {b.node("MatMul", {x, b.weights({8, 6})})})}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    const ValueId scores = b.node("Softmax", {b.node("Mul", {b.node("MatMul", {q, k}), b.constant(floats({}, {0.3F}))})});
    const ValueId mixed = b.node("Add", {b.node("MatMul", {scores, x}), x});
    const ValueId flat = b.node("Flatten", {mixed});
    const ValueId a = b.node("Gemm", {flat, b.weights({40, 7}), b.weights({7})});
    const ValueId c = b.node("Relu", {b.node("Gemm", {a, b.weights({9, 7}), b.weights({1, 9})}, {{"transB", int64_t{1}}})});
    const ValueId d = b.node("Gemm", {c, a}, {{"transA", int64_t{1}}});
    expect_agrees(b.finish({d, scores}), {{3, 5, 8}}, seed);
  }
}

TEST(CpuNetwork, GemmScalesThroughTheEvaluator) {
  GraphBuilder b;
  const ValueId y = b.node("Gemm", {b.input({2, 4}), b.weights({4, 3}), b.weights({3})}, {{"alpha", 0.5F}, {"beta", 2.0F}});
  expect_agrees(b.finish({y}), {{2, 4}}, 1, 110, {"Gemm"});
}

TEST(CpuNetwork, ElementwiseBroadcastsAndNorms) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    GraphBuilder b(seed);
    const ValueId x = b.input({2, 20, 4, 4});
    const ValueId conv = b.conv(x, 20, 20, 3);
    const ValueId gate = b.node("Sigmoid", {b.conv(b.node("GlobalAveragePool", {conv}), 20, 20, 1)});
    const ValueId scaled = b.node("Mul", {conv, gate});
    const ValueId swish = b.node("Mul", {scaled, b.node("Sigmoid", {scaled})});
    const ValueId norm = b.batch_norm(swish, 20);
    const ValueId shifted = b.node("Relu", {b.node("Sub", {norm, b.weights({20, 1, 1})})});
    const ValueId divided = b.node("Div", {shifted, b.constant(floats({}, {3}))});
    const ValueId mean = b.node("ReduceMean", {divided}, {{"axes", std::vector<int64_t>{2, 3}}, {"keepdims", int64_t{0}}});
    expect_agrees(b.finish({divided, mean, b.node("LogSoftmax", {mean})}), {{2, 20, 4, 4}}, seed);
  }
}

TEST(CpuNetwork, NormsOfOneElementAChannel) {  // where oneDNN 3.2 adds wrong numbers after a product
  GraphBuilder b;
  const ValueId pooled = b.node("GlobalAveragePool", {b.input({3, 20, 4, 4})});
  const ValueId flat = b.node("Flatten", {pooled});
  expect_agrees(b.finish({b.node("Relu", {b.batch_norm(pooled, 20)}), b.node("Relu", {b.batch_norm(flat, 20)})}), {{3, 20, 4, 4}}, 1);
}

TEST(CpuNetwork, ShapesMoveWithoutSlowSteps) {
  GraphBuilder b;
  const ValueId x = b.input({2, 8, 4, 4});
  const ValueId y = b.node("Concat", {b.conv(x, 8, 20, 3), b.conv(x, 8, 16, 1)}, {{"axis", int64_t{1}}});
  const ValueId shuffled = b.node("Transpose", {b.node("Reshape", {y, b.constant(testing::integers({2, 4, 9, 4, 4}))})},
                                  {{"perm", std::vector<int64_t>{0, 2, 1, 3, 4}}});
  const ValueId back = b.node("Reshape", {shuffled, b.constant(testing::integers({2, -1, 4, 4}))});
  const ValueId last = b.node("Transpose", {b.conv(back, 36, 16, 1)}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  const ValueId wide = b.node("Unsqueeze", {last, b.constant(testing::integers({0}))});
  expect_agrees(b.finish({wide, b.node("Flatten", {b.node("GlobalAveragePool", {back})}), back}), {{2, 8, 4, 4}}, 5);
}

TEST(CpuNetwork, WhatOneDnnLacksRunsThroughTheEvaluator) {
  GraphBuilder b;
  const ValueId x = b.input({2, 3, 6, 6});
  const ValueId padded = b.node("Pad", {b.conv(x, 3, 8, 3), b.constant(testing::integers({0, 0, 1, 1, 0, 0, 1, 1}))});
  const ValueId out = b.conv(padded, 8, 16, 3);
  expect_agrees(b.finish({out}), {{2, 3, 6, 6}}, 1, 110, {"Pad"});
}

TEST(CpuNetwork, ConstantAndInputOutputs) {
  GraphBuilder b;
  const ValueId x = b.input({2, 3});
  expect_agrees(b.finish({b.node("Identity", {x}), b.node("Add", {b.constant(floats({1}, {1})), b.constant(floats({1}, {2}))})}), {{2, 3}},
                1);
}

TEST(CpuNetwork, SeveralBatchSizesShareWeightsAndArena) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 16, 8, 8});
  const Graph graph = b.finish({b.node("Relu", {b.conv(b.conv(x, 16, 64, 3), 64, 64, 3)})});
  Network network(graph, {.batch_sizes = {1, 4, 3}, .threads = 2, .pin = false, .sharing = Sharing::layers});
  Network one(graph, {.batch_sizes = {4}, .threads = 2, .pin = false, .sharing = Sharing::layers});
  EXPECT_EQ(network.arena_bytes(), one.arena_bytes());
  EXPECT_LE(weight_bytes(std::array{&std::as_const(network)}), 2 * weight_bytes(std::array{&std::as_const(one)}));
  EXPECT_EQ(network.plan_for(2)->batch, 3);
  EXPECT_EQ(network.plan_for(5), nullptr);
  for (const int64_t batch : {1, 3, 4}) {
    std::mt19937 random(7);
    const std::vector<Tensor> inputs{testing::random_tensor({batch, 16, 8, 8}, random)};
    const auto expected = evaluate(graph, inputs);
    const auto got = run(network, inputs, batch);
    EXPECT_GT(sqnr_db(expected[0], std::span(reinterpret_cast<const float*>(got[0].data()), got[0].size() / 8)), 110);
  }
}

TEST(CpuNetwork, ThreadsThatShareSamplesGiveTheSame) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 3, 8, 8}), y = b.node("Relu", {b.conv(x, 3, 16, 3)});
  const ValueId flat = b.node("Reshape", {y, b.constant(testing::integers({-1, 1024}))});
  const Graph graph = b.finish({b.node("Softmax", {b.node("Gemm", {flat, b.weights({1024, 7})})}), y});
  for (const int threads : {2, 3}) {
    Network network(graph, {.batch_sizes = {1, 7, 8}, .threads = threads, .pin = false, .sharing = Sharing::samples});
    for (const int64_t batch : {1, 7, 8}) {
      SCOPED_TRACE(::testing::Message() << threads << " threads, batch " << batch);
      EXPECT_EQ(network.plan_for(batch)->by_samples, batch > 1);
      std::mt19937 random(2);
      const std::vector<Tensor> inputs{testing::random_tensor({batch, 3, 8, 8}, random)};
      const auto expected = evaluate(graph, inputs);
      const auto got = run(network, inputs, batch);
      for (size_t i = 0; i < 2; ++i)
        EXPECT_GT(sqnr_db(expected[i], std::span(reinterpret_cast<const float*>(got[i].data()), got[i].size() / 8)), 110);
    }
  }
}

// A sum over the batch: samples cannot go apart, whatever is asked for.
TEST(CpuNetwork, SamplesThatMeetAreNotShared) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 4});
  const Graph graph = b.finish({b.node("ReduceSum", {x, b.constant(testing::integers({0}))})});
  Network network(graph, {.batch_sizes = {8}, .threads = 2, .pin = false, .sharing = Sharing::samples});
  EXPECT_FALSE(network.plan_for(8)->by_samples);
}

TEST(CpuNetwork, PartsOfABatchGiveTheSame) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 3, 8, 8}), y = b.node("Relu", {b.conv(x, 3, 16, 3)});
  const ValueId flat = b.node("Reshape", {y, b.constant(testing::integers({-1, 1024}))});
  const Graph graph = b.finish({b.node("Softmax", {b.node("Gemm", {flat, b.weights({1024, 7})})}), y});
  Network whole(graph, {{6}, 2, false, 6});
  Network parts(graph, {.batch_sizes = {6}, .threads = 2, .pin = false, .part = 4, .sharing = Sharing::layers});
  EXPECT_EQ(whole.plan_for(6)->parts, 1);
  EXPECT_EQ(parts.plan_for(6)->parts, 2);
  EXPECT_LT(parts.arena_bytes(), whole.arena_bytes() + 1);
  std::mt19937 random(2);
  const std::vector<Tensor> inputs{testing::random_tensor({6, 3, 8, 8}, random)};
  const auto expected = evaluate(graph, inputs);
  const auto got = run(parts, inputs, 6);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_GT(sqnr_db(expected[i], std::span(reinterpret_cast<const float*>(got[i].data()), got[i].size() / 8)), 110);
}

TEST(CpuNetwork, SamplesThatMeetAreNotParted) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 4});
  const Graph graph = b.finish({b.node("Softmax", {x}, {{"axis", int64_t{0}}})});
  Network network(graph, {{4}, 1, false, 1});
  EXPECT_EQ(network.plan_for(4)->parts, 1);
  expect_agrees(graph, {{4, 4}}, 1);
}

TEST(CpuNetwork, RefusesByOperatorAndNode) {
  GraphBuilder b;
  const ValueId x = b.input({1, 2});
  const ValueId odd = b.node("Wobble", {x});
  b.graph.values[static_cast<size_t>(odd)].dims = testing::known_dims({1, 2});
  const Graph graph = b.finish({odd});
  try {
    const Network network(graph, {});
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_EQ(std::string(error.what()), "native does not run operator Wobble (node Wobble_0)");
  }
}

// The evaluator has the operator but not this mode of it: said at load, not by the first query.
TEST(CpuNetwork, RefusesAModeThatTheEvaluatorLacks) {
  GraphBuilder b;
  const ValueId x = b.input({-1, 1, 2, 2, 2, 2}), grid = b.input({-1, 1, 1, 1, 1, 4}, "grid");
  const Graph graph = b.finish({b.node("GridSample", {x, grid})});
  try {
    const Network network(graph, {});
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_NE(std::string(error.what())
                  .find("the reference interpreter does not run operator GridSample (node 'GridSample_0'): an input of 6 dimensions is not "
                        "handled here"),
              std::string::npos)
        << error.what();
  }
}

// The trial at load has zeros for the shape that a query brings, so its result is empty.
TEST(CpuNetwork, RunsANodeWhoseInputDecidesTheSizeOfItsResult) {
  GraphBuilder b;
  const ValueId shape = b.input({2}, "shape");
  b.graph.values[static_cast<size_t>(shape)].type = DataType::i64;
  Graph graph = b.finish({b.node("ConstantOfShape", {shape}, {{"value", testing::floats({1}, {5})}})});
  graph.values[static_cast<size_t>(graph.outputs[0])].dims = testing::known_dims({2, 3});
  Network network(graph, {.batch_sizes = {1}});
  const auto results = run(network, {testing::integers({2, 3})}, 1);
  EXPECT_THAT(std::span(reinterpret_cast<const float*>(results[0].data()), 6), ::testing::Each(5));
  EXPECT_THROW(run(network, {testing::integers({2, 2})}, 1), Error);
}

// Outputs that a kernel does not make: the evaluator does, or says no at load.
TEST(CpuNetwork, SecondOutputs) {
  GraphBuilder b;
  const ValueId x = b.input({2, 3, 4, 4});
  const ValueId ones = b.constant(testing::floats({3}, {1, 1, 1}));
  Graph graph = b.finish({b.node("MaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}),
                          b.node("BatchNormalization", {x, ones, ones, ones, ones}, {{"training_mode", int64_t{1}}})});
  for (Node& node : graph.nodes)
    for (size_t extra = 0; extra < (node.op == "MaxPool" ? 1 : 2); ++extra) {
      node.outputs.push_back(static_cast<ValueId>(graph.values.size()));
      graph.outputs.push_back(node.outputs.back());
      graph.values.push_back({node.name + "/" + std::to_string(extra), DataType::f32, std::nullopt});
    }
  graph.opset = 15;
  infer_shapes(graph);
  std::mt19937 random(1);
  const std::vector<Tensor> inputs{testing::random_tensor({2, 3, 4, 4}, random)};
  const auto expected = evaluate(graph, inputs);
  Network network(graph, {.batch_sizes = {1}});
  const auto results = run(network, inputs, 1);
  for (size_t i = 2; i < expected.size(); ++i)
    EXPECT_EQ(std::memcmp(results[i].data(), expected[i].data.get(), expected[i].bytes()), 0) << i;
  graph.nodes[1].attributes.clear();  // without training nothing makes them
  EXPECT_THROW(Network(graph, {.batch_sizes = {1}}), Error);
}

TEST(CpuNetwork, DataDependentShapesAreSeen) {
  GraphBuilder b;
  const ValueId x = b.input({1, 4});
  EXPECT_EQ(shape_that_depends_on_data(b.finish({b.node("Relu", {x})})), "");
  GraphBuilder c;
  const ValueId found = c.node("NonZero", {c.input({1, 4})});
  EXPECT_THAT(shape_that_depends_on_data(c.finish({found})), ::testing::HasSubstr("node "));
}

// s = s W + x, at most `most` times and while the largest number is below `limit`. W, x and limit stand around the body.
Graph sums_below_a_limit(int64_t most) {
  GraphBuilder net, body(2);
  net.input({-1, 4});
  const ValueId start = net.input({-1, 4}, "start");
  net.input({1}, "limit");
  net.graph.values[static_cast<size_t>(net.weights({4, 4}))].name = "W";
  body.graph.inputs = {body.value("i", Dims{}, DataType::i64), body.value("on", Dims{}, DataType::boolean)};
  const ValueId s = body.input({-1, 4}, "s");
  body.input({-1, 4}, "squares before");  // which nothing reads
  const ValueId x = body.value("x"), limit = body.value("limit"), w = body.value("W");
  const ValueId next = body.node("Add", {body.node("MatMul", {s, w}), x});
  const ValueId largest = body.node("ReduceMax", {next}, {{"keepdims", int64_t{0}}});
  const ValueId goes_on = body.node("Less", {largest, limit});
  body.graph.outputs = {goes_on, next, body.node("Mul", {next, next})};
  const Attribute loop = std::make_shared<const Graph>(body.graph);
  const ValueId result = net.node("Loop", {net.constant(testing::integers({most})), no_value, start, start}, {{"body", loop}});
  net.graph.nodes.back().outputs.push_back(net.value("squares"));
  return net.finish({net.node("Relu", {result}), net.graph.nodes.back().outputs.back()});
}

TEST(CpuNetwork, RunsLoopsThatDataEnd) {
  std::mt19937 random(4);
  for (const int64_t most : {0, 1, 2, 7}) {
    const Graph graph = sums_below_a_limit(most);
    EXPECT_EQ(shape_that_depends_on_data(graph), "");
    Network network(graph, {{3}, 2, false});
    EXPECT_THAT(slow_steps(network, 3), ::testing::ElementsAre("Loop"));
    for (const float limit : {-1e9F, 1.0F, 1e9F}) {
      const std::vector<Tensor> inputs{testing::random_tensor({3, 4}, random), testing::random_tensor({3, 4}, random),
                                       floats({1}, {limit})};
      const auto expected = evaluate(graph, inputs);
      const auto got = run(network, inputs, 3);
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_GT(sqnr_db(expected[i], {reinterpret_cast<const float*>(got[i].data()), 12}), 110) << most << ", " << limit << ", " << i;
    }
  }
}

TEST(CpuNetwork, LeavesOtherLoopsToTheInterpreter) {
  GraphBuilder net, growing;
  const ValueId x = net.input({1, 2});
  growing.graph.inputs = {growing.value("i", Dims{}, DataType::i64), growing.value("on", Dims{}, DataType::boolean)};
  const ValueId s = growing.input({1, 2}, "s");
  growing.graph.outputs = {growing.graph.inputs[1], growing.node("Concat", {s, s}, {{"axis", int64_t{1}}})};
  const Attribute loop = std::make_shared<const Graph>(growing.graph);
  const Graph graph = net.finish({net.node("Loop", {net.constant(testing::integers({2})), no_value, x}, {{"body", loop}})});
  EXPECT_EQ(shape_that_depends_on_data(graph), "Loop, node Loop_0");
}

// The number of boxes that are kept is open, and nobody outside sees it.
TEST(CpuNetwork, RunsWhatOnlyDataSizeInside) {
  GraphBuilder b;
  const ValueId boxes = b.input({1, 9, 4}, "boxes"), scores = b.input({1, 2, 9}, "scores");
  const ValueId kept = b.node("NonMaxSuppression", {boxes, scores, b.constant(testing::integers({5})), b.constant(floats({1}, {0.4F}))});
  const ValueId numbers = b.node("Cast", {kept}, {{"to", int64_t{1}}});
  const ValueId sum = b.node("ReduceSum", {numbers, b.constant(testing::integers({0}))}, {{"keepdims", int64_t{1}}});
  expect_agrees(b.finish({b.node("Add", {b.input({1, 3}, "offset"), sum})}), {{1, 9, 4}, {1, 2, 9}, {1, 3}}, 3, 110, {"Region"});
}

TEST(CpuNetwork, TimesEveryLayer) {
  GraphBuilder b;
  const Graph graph = b.finish({b.node("Relu", {b.conv(b.input({1, 3, 8, 8}), 3, 16, 3)})});
  Network network(graph, {{1}, 1, true});
  std::vector<float> in(192), out(1024);
  const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(in.data())};
  std::byte* outputs[] = {reinterpret_cast<std::byte*>(out.data())};
  Nanoseconds time = 0;
  const auto timings = network.run_timed(*network.plan_for(1), inputs, outputs, [&] { return time += 5; });
  ASSERT_FALSE(timings.empty());
  EXPECT_EQ(timings[0].name, "Conv_0+Relu_1");
  EXPECT_EQ(timings[0].ns, 5);
}

// A batch in parts: every part is timed, none is taken for another.
TEST(CpuNetwork, TimesAllPartsOfABatch) {
  GraphBuilder b;
  const Graph graph = b.finish({b.node("Relu", {b.conv(b.input({-1, 3, 8, 8}), 3, 16, 3)})});
  Network network(graph, {.batch_sizes = {6}, .pin = false, .part = 2});
  ASSERT_EQ(network.plan_for(6)->parts, 3);
  std::vector<float> in(6 * 192, 1), out(6 * 1024, -1);
  const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(in.data())};
  std::byte* outputs[] = {reinterpret_cast<std::byte*>(out.data())};
  Nanoseconds time = 0;
  const auto timings = network.run_timed(*network.plan_for(6), inputs, outputs, [&] { return time += 5; });
  EXPECT_EQ(timings[0].ns, 3 * 5);
  EXPECT_GE(*std::min_element(out.begin(), out.end()), 0) << "the last part ran too";
}

TEST(Operators, OnlyThoseOfOnnxRunNatively) {
  EXPECT_TRUE(runs_natively("Conv", ""));
  EXPECT_FALSE(runs_natively("Conv", "com.microsoft"));
  EXPECT_FALSE(runs_natively("Wobble", ""));
}

}  // namespace
}  // namespace deepgap
