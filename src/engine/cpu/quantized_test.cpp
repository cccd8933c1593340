// Networks of QuantizeLinear and DequantizeLinear, computed with integers, against the plain evaluator, which computes what they mean.
#include "engine/cpu/isa.h"
#include "engine/cpu/network.h"
#include "engine/passes/test_quantized_graphs.h"
#include "model/eval/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace deepgap {
namespace {

using testing::floats;
using testing::Grid;
using testing::QuantizedBuilder;

std::vector<Tensor> run(Network& network, const Graph& graph, const std::vector<Tensor>& inputs, int64_t batch) {
  const auto* plan = network.plan_for(batch);
  std::vector<const std::byte*> in;
  for (const auto& tensor : inputs) in.push_back(tensor.data.get());
  std::vector<Tensor> results;
  std::vector<std::byte*> out;
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    results.push_back(make_tensor(graph.values[static_cast<size_t>(graph.outputs[i])].type, plan->outputs[i]));
    out.push_back(writable<std::byte>(results.back()).data());
  }
  network.run(*plan, in, out);
  network.run(*plan, in, out);  // the remains of the first run must not matter
  return results;
}

int integer(const Tensor& tensor, size_t i) { return tensor.type == DataType::u8 ? tensor.as<uint8_t>()[i] : tensor.as<int8_t>()[i]; }

// At most one quantum apart, and that seldom: only where the exact result lies between two.
void expect_same_integers(const Tensor& expected, const Tensor& got) {
  ASSERT_EQ(expected.type, got.type);
  const auto count = static_cast<size_t>(element_count(expected.shape));
  size_t off = 0;
  int largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const int distance = std::abs(integer(expected, i) - integer(got, i));
    largest = std::max(largest, distance);
    off += distance != 0 ? 1 : 0;
  }
  EXPECT_LE(largest, 1);
  EXPECT_LE(off, 1 + count / 50);
}

struct Expectations {
  double int8_share = 1;                 // share of the multiply-accumulates; below 0: not checked
  std::vector<std::string> other_steps;  // steps that do not compute with integers: explicit conversions between
  bool without_vnni = true;              // integers also where the CPU's products of bytes saturate: by our own kernels
};

std::vector<std::string> conversions(const Network& network, int64_t batch) {
  // Our own kernels are functions, too; that they computed with integers is seen from the share.
  static const std::set<std::string> computes{"Conv", "Copy", "Gemm", "MatMul", "Reorder"};
  std::vector<std::string> ops;
  for (const auto& step : network.plan_for(batch)->executable->steps())
    if (step.op == "DequantizeLinear" || (step.function && !computes.contains(step.op))) ops.push_back(step.op);
  return ops;
}

void expect_agrees(const Graph& graph, const std::vector<Shape>& shapes, uint32_t seed, const Expectations& expectations = {}) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  for (const auto& shape : shapes) inputs.push_back(testing::random_tensor(shape, random));
  const auto expected = evaluate(graph, inputs);
  const int64_t batch = shapes[0][0];
  Network network(graph, {{batch}, 2, false}, Integers::computed_with);
  const auto got = run(network, graph, inputs, batch);
  for (size_t i = 0; i < got.size(); ++i) {
    if (expected[i].type == DataType::f32) {
      EXPECT_GT(testing::sqnr_db(expected[i], got[i].as<float>()), 100) << "output " << i;
    } else {
      expect_same_integers(expected[i], got[i]);
    }
  }
  if (!multiplies_integers_exactly() && !expectations.without_vnni) return;
  if (expectations.int8_share >= 0 && !network.precision_shares().empty()) {
    EXPECT_NEAR(network.precision_shares()["int8"], expectations.int8_share, 1e-9);
  }
  EXPECT_THAT(conversions(network, batch), ::testing::UnorderedElementsAreArray(expectations.other_steps));
}

std::map<std::string, Attribute> window(int64_t kernel, int64_t stride, int64_t pad, int64_t group = 1) {
  return {{"kernel_shape", std::vector<int64_t>{kernel, kernel}},
          {"strides", std::vector<int64_t>{stride, stride}},
          {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
          {"group", group}};
}

TEST(Quantized, HandComputedConvolution) {
  QuantizedBuilder b;
  const ValueId x = b.through(b.input({1, 1, 2, 2}), {0.5F, 10});
  const ValueId w = b.node("DequantizeLinear", {b.constant(testing::integer_tensor(DataType::i8, {1, 1, 2, 2}, {1, 2, 3, -4})),
                                                b.constant(floats({}, {0.25F}))});
  const Graph graph = b.finish({b.quantize(b.node("Conv", {x, w, b.constant(floats({1}, {10}))}), {0.5F, 3})});
  Network network(graph, {}, Integers::computed_with);
  // (1 + 2 + 6 - 16) / 4 + 10 = 8.25, in steps of a half 16.5, which goes to 16, and 3
  const auto got = run(network, graph, {floats({1, 1, 2, 2}, {1, 1, 2, 4})}, 1);
  EXPECT_EQ(integer(got[0], 0), 19);
}

// Quarters, many of them halfway between two integers of the grids below.
Tensor quarters(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i * 7 % 41) - 20) / 4;
  return floats(shape, values);
}

// QuantizeLinear rounds halves to even and only then adds the zero point, which here is odd: bit for bit the evaluator's.
void expect_halves_to_even(const std::string& what, const Shape& shape, const std::function<ValueId(QuantizedBuilder&, ValueId)>& make) {
  SCOPED_TRACE(what);
  QuantizedBuilder b(1);
  const Graph graph = b.finish({make(b, b.input(shape))});
  const std::vector<Tensor> inputs{quarters(shape)};
  const Tensor expected = evaluate(graph, inputs)[0];
  Network network(graph, {{shape[0]}, 2, false}, Integers::computed_with);
  const auto got = run(network, graph, inputs, shape[0]);
  for (size_t i = 0; i < static_cast<size_t>(element_count(expected.shape)); ++i) EXPECT_EQ(integer(got[0], i), integer(expected, i)) << i;
}

ValueId weights_in_halves(QuantizedBuilder& b, const Shape& shape) {
  std::vector<int> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i % 5) - 2;
  return b.node("DequantizeLinear", {b.constant(testing::integer_tensor(DataType::i8, shape, values)), b.constant(floats({}, {0.5F}))});
}

TEST(Quantized, HalvesGoToEvenBeforeTheZeroPointIsAdded) {
  for (const Grid grid : {Grid{0.5F, 127}, Grid{0.5F, -3, DataType::i8}, Grid{0.5F, 126}}) {
    const Grid fine{0.25F, grid.zero_point, grid.type};
    expect_halves_to_even("a step of its own", {1, 8}, [&](auto& b, ValueId x) { return b.quantize(x, grid); });
    expect_halves_to_even("channels", {2, 24, 5, 5}, [&](auto& b, ValueId x) { return b.quantize(x, grid); });
    expect_halves_to_even("from integers", {1, 3, 8}, [&](auto& b, ValueId x) { return b.quantize(b.through(x, fine), grid); });
    expect_halves_to_even("Conv", {2, 16, 6, 6}, [&](auto& b, ValueId x) {
      return b.quantize(b.node("Relu", {b.node("Conv", {b.through(x, fine), weights_in_halves(b, {16, 16, 3, 3})}, window(3, 1, 1))}),
                        grid);
    });
    expect_halves_to_even("MatMul", {3, 20}, [&](auto& b, ValueId x) {
      return b.quantize(b.node("MatMul", {b.through(x, fine), weights_in_halves(b, {20, 9})}), grid);
    });
    expect_halves_to_even("Add", {2, 8, 4, 4}, [&](auto& b, ValueId x) {
      const ValueId half = b.through(x, fine);
      return b.quantize(b.node("Add", {half, b.through(b.node("Neg", {x}), fine)}), grid);
    });
    expect_halves_to_even("AveragePool", {1, 16, 4, 4}, [&](auto& b, ValueId x) {
      return b.quantize(b.node("AveragePool", {b.through(x, fine)}, window(2, 2, 0)), fine);
    });
    expect_halves_to_even("MaxPool", {1, 16, 4, 4},
                          [&](auto& b, ValueId x) { return b.quantize(b.node("MaxPool", {b.through(x, fine)}, window(2, 2, 0)), grid); });
    expect_halves_to_even("GlobalAveragePool", {1, 16, 2, 2},
                          [&](auto& b, ValueId x) { return b.quantize(b.node("GlobalAveragePool", {b.through(x, fine)}), fine); });
  }
}

TEST(Quantized, RandomConvolutions) {
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    QuantizedBuilder b(seed);
    const bool depthwise = seed % 4 == 3, grouped = seed % 8 == 4;
    const int64_t in = depthwise ? 24 : grouped ? 32 : b.pick(1, 40), group = depthwise ? in : grouped ? 2 : 1;
    const int64_t out = depthwise ? in : grouped ? 16 * b.pick(1, 3) : b.pick(1, 40);
    const int64_t kernel = b.pick(0, 1) == 0 ? 1 : 3, stride = b.pick(1, 2), batch = std::array<int64_t, 3>{1, 3, 16}[seed % 3];
    const Grid source = b.grid(3), target = b.grid(3);
    const ValueId x = b.through(b.input({batch, in, 9, 9}), source);
    const ValueId w = b.quantized_weights({out, in / group, kernel, kernel}, b.pick(0, 2) == 0 ? -1 : 0, in / group * kernel * kernel);
    ValueId y = b.node("Conv", {x, w, b.weights({out})}, window(kernel, stride, kernel / 2, group));
    if (b.pick(0, 1) == 1) y = b.node("Relu", {y});
    if (b.pick(0, 1) == 1) {
      const int64_t size = (9 + 2 * (kernel / 2) - kernel) / stride + 1;
      const ValueId residual = b.through(b.input({batch, out, size, size}, "r"), b.grid(3));
      y = b.node("Relu", {b.node("Add", {y, residual})});
      expect_agrees(b.finish({b.quantize(y, target)}), {{batch, in, 9, 9}, {batch, out, size, size}}, seed);
    } else {
      expect_agrees(b.finish({b.quantize(y, target)}), {{batch, in, 9, 9}}, seed);
    }
  }
}

// The largest result lies first in memory and is computed last: what is written past its end is found in the others.
TEST(Quantized, ProjectionsStayWithinTheirMemory) {
  for (int64_t height = 1; height <= 16; ++height) {
    for (const int64_t width : {height, int64_t{7}, int64_t{12}}) {
      SCOPED_TRACE(::testing::Message() << height << 'x' << width);
      QuantizedBuilder b(static_cast<uint32_t>(100 * height + width));
      const Grid grid = b.grid(3);
      const ValueId x = b.through(b.input({1, 64, height, width}), b.grid(3));
      std::vector<ValueId> results;
      for (const int64_t out : {32, 64, 96}) {
        const ValueId y = b.node("Conv", {x, b.quantized_weights({out, 64, 1, 1}, 0, 64), b.weights({out})}, window(1, 1, 0));
        results.push_back(b.dequantize(b.quantize(y, grid), grid));
      }
      expect_agrees(b.finish({b.quantize(b.node("Concat", results, {{"axis", int64_t{1}}}), grid)}), {{1, 64, height, width}}, 7, {-1, {}});
    }
  }
}

// Shapes whose last tile, panel or run is not whole, and every way that our own kernels compute: Winograd's of both sizes, direct ones of
// many and few channels, and channel by channel. Weights of 127 and inputs at the ends of their type are the worst case of each sum.
TEST(Quantized, LargestSumsOfEachKernel) {
  struct Case {
    int64_t in, out, size, kernel, stride, group;
  };
  uint32_t seed = 200;
  for (const Case& c : {Case{16, 16, 12, 3, 1, 1},
                        {48, 20, 13, 3, 1, 1},
                        {64, 32, 7, 3, 1, 1},
                        {80, 17, 5, 3, 2, 1},
                        {3, 16, 19, 7, 2, 1},
                        {1300, 33, 3, 1, 1, 1},
                        {40, 40, 9, 5, 1, 40},
                        {33, 33, 11, 3, 2, 33}}) {
    for (const DataType type : {DataType::u8, DataType::i8}) {
      QuantizedBuilder b(++seed);
      const int64_t fan_in = c.in / c.group * c.kernel * c.kernel;
      std::vector<int> values(static_cast<size_t>(c.out * fan_in));
      for (int& value : values) value = b.pick(0, 9) == 0 ? -127 : 127;
      const ValueId w = b.node("DequantizeLinear",
                               {b.constant(testing::integer_tensor(DataType::i8, {c.out, c.in / c.group, c.kernel, c.kernel}, values)),
                                b.constant(floats({}, {0.01F}))});
      const ValueId x = b.through(b.input({1, c.in, c.size, c.size}), {0.001F, type == DataType::u8 ? 1 : -127, type});  // most saturate
      const ValueId y = b.node("Conv", {x, w, b.weights({c.out})}, window(c.kernel, c.stride, c.kernel / 2, c.group));
      expect_agrees(b.finish({b.quantize(y, {0.011F * static_cast<float>(fan_in) / 100, 3})}), {{1, c.in, c.size, c.size}}, seed);
    }
  }
}

TEST(Quantized, EveryActivationAfterIntegers) {
  for (const char* op : {"Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "HardSigmoid", "HardSwish", "Gelu", "Softplus"}) {
    SCOPED_TRACE(op);
    QuantizedBuilder b(9);
    const ValueId x = b.through(b.input({1, 24, 6, 6}), {0.03F, 120});
    const ValueId y = b.node("Conv", {x, b.quantized_weights({24, 24, 3, 3}, 0, 216), b.weights({24})}, window(3, 1, 1));
    Graph graph = b.finish({b.quantize(b.node(op, {y}), {0.02F, 60})});
    graph.opset = 20;
    expect_agrees(graph, {{1, 24, 6, 6}}, 9);
  }
}

TEST(Quantized, ProductsAndGemm) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    QuantizedBuilder b(seed);
    const int64_t rows = b.pick(1, 20), inner = b.pick(1, 70), columns = b.pick(1, 40);
    const ValueId x = b.through(b.input({rows, inner}), b.grid(3));
    const bool transposed = b.pick(0, 1) == 1;
    const ValueId w = transposed ? b.quantized_weights({columns, inner}, 0, inner) : b.quantized_weights({inner, columns}, 1, inner);
    const ValueId y = b.node("Gemm", {x, w, b.weights({columns})}, {{"transB", int64_t{transposed ? 1 : 0}}});
    const ValueId z = b.node("MatMul", {x, b.quantized_weights({inner, columns}, b.pick(-1, 0) * 2 + 1, inner)});
    expect_agrees(b.finish({b.quantize(b.node("Relu", {y}), b.grid(3)), z}), {{rows, inner}}, seed);
  }
}

TEST(Quantized, ProductsOfActivations) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    QuantizedBuilder b(seed);
    const Grid left = b.grid(3), right{0.03F, b.pick(-9, 9), DataType::i8};
    const ValueId x = b.through(b.input({2, 3, 5, 16}), left), y = b.through(b.input({2, 3, 16, 7}, "y"), right);
    expect_agrees(b.finish({b.quantize(b.node("MatMul", {x, y}), {0.15F, 120})}), {{2, 3, 5, 16}, {2, 3, 16, 7}}, seed,
                  {.without_vnni = false});
  }
}

TEST(Quantized, SumsAndPools) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    QuantizedBuilder b(seed);
    const Grid source = b.grid(3);
    Grid same_type = b.grid(3);
    same_type.type = source.type;
    same_type.zero_point = source.type == DataType::u8 ? 100 : -5;
    const ValueId x = b.through(b.input({2, 20, 9, 9}), source), r = b.through(b.input({2, 20, 9, 9}, "r"), b.grid(3));
    const ValueId sum = b.quantize(b.node("Relu", {b.node("Add", {x, r})}), b.grid(4));
    const ValueId largest = b.quantize(b.node("MaxPool", {x}, window(3, 2, 1)), source);
    const ValueId mean = b.quantize(b.node("AveragePool", {x}, window(3, 2, 1)), same_type);
    const ValueId whole = b.quantize(b.node("GlobalAveragePool", {x}), same_type);
    expect_agrees(b.finish({sum, largest, mean, whole}), {{2, 20, 9, 9}, {2, 20, 9, 9}}, seed);
  }
}

TEST(Quantized, ResidualBlockOfOthersStyle) {
  // Every result quantized, also the convolution's before the sum; weights unsigned with a zero point, int32 biases.
  QuantizedBuilder b(3);
  const Grid g0{0.0203F, 128}, g1{0.0307F, 0}, g2{0.0311F, 110}, g3{0.0391F, 0};
  const ValueId x = b.through(b.input({2, 16, 8, 8}), g0);
  std::vector<int> values(16 * 16 * 9);
  for (int& value : values) value = b.pick(1, 255);
  const ValueId w =
      b.node("DequantizeLinear", {b.constant(testing::integer_tensor(DataType::u8, {16, 16, 3, 3}, values)),
                                  b.constant(floats({}, {0.001F})), b.constant(testing::integer_tensor(DataType::u8, {}, {128}))});
  const ValueId bias = b.node("DequantizeLinear", {b.constant(testing::integer_tensor(DataType::i32, {16}, std::vector<int>(16, 5000))),
                                                   b.constant(floats({}, {0.00002F}))});
  const ValueId y = b.through(b.node("Relu", {b.node("Conv", {x, w, bias}, window(3, 1, 1))}), g1);
  const ValueId z = b.through(b.node("Conv", {y, b.quantized_weights({16, 16, 1, 1}, 0, 16)}), g2);
  const ValueId sum = b.quantize(b.node("Relu", {b.node("Add", {z, x})}), g3);
  expect_agrees(b.finish({sum}), {{2, 16, 8, 8}}, 3);
  // The same with a residual whose zero point and type are others, and a bend that the result's integers do not have.
  const ValueId r = b.through(b.input({2, 16, 8, 8}, "r"), {0.0277F, -7, DataType::i8});
  const ValueId rounded = b.through(b.node("Conv", {y, b.quantized_weights({16, 16, 1, 1}, 0, 16), b.weights({16})}), g2);
  const ValueId bent = b.quantize(b.node("Relu", {b.node("Add", {r, rounded})}), {0.0391F, 60});
  const ValueId clipped = b.node("Clip", {b.node("Conv", {y, b.quantized_weights({16, 16, 1, 1}, 0, 16)}), b.constant(floats({}, {0})),
                                          b.constant(floats({}, {1.5F}))});
  expect_agrees(b.finish({sum, bent, b.quantize(clipped, {0.01F, 0}), b.quantize(clipped, {0.005F, 0})}), {{2, 16, 8, 8}, {2, 16, 8, 8}},
                3);
}

// oneDNN 3.2 loses the zero point of more than 16 channels that come in plain order, at images of 64 pixels and others.
TEST(Quantized, ManyChannelsKeepTheirZeroPoint) {
  for (const int64_t channels : {19, 38, 64}) {
    QuantizedBuilder b(5);
    const ValueId x = b.through(b.input({2, channels, 8, 8}), {0.03F, 128});
    const ValueId conv = b.node("Conv", {x, b.quantized_weights({4, channels, 3, 3}, 0, 9 * channels)}, window(3, 1, 1));
    expect_agrees(b.finish({b.quantize(conv, {0.02F, 120})}), {{2, channels, 8, 8}}, 5);
  }
}

TEST(Quantized, LayoutsMoveAsIntegers) {
  QuantizedBuilder b(4);
  const Grid g{0.03F, 120};
  const ValueId x = b.through(b.input({2, 8, 6, 6}), g), y = b.through(b.input({2, 8, 6, 6}, "y"), {0.02F, 100});
  const ValueId joined = b.node("Concat", {x, y}, {{"axis", int64_t{1}}});
  const ValueId conv = b.node("Conv", {b.through(joined, g), b.quantized_weights({4, 16, 1, 1}, 0, 16)});
  const ValueId pooled = b.node("MaxPool", {b.node("Relu", {conv})}, window(2, 2, 0));
  const ValueId flat = b.node("Flatten", {b.through(pooled, g)});
  const ValueId turned =
      b.node("Transpose", {b.node("Reshape", {flat, b.constant(testing::integers({2, 4, 9}))})}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  expect_agrees(b.finish({b.node("MatMul", {turned, b.quantized_weights({4, 5}, 1, 4)})}), {{2, 8, 6, 6}, {2, 8, 6, 6}}, 4);
}

TEST(Quantized, WhatHasNoIntegersIsComputedWithNumbers) {
  QuantizedBuilder b(5);
  const ValueId x = b.through(b.input({1, 8, 6, 6}), {0.03F, 120});
  // Weights that do not fit into int8 once their zero point is off; weights quantized along their inputs; a function between.
  const ValueId wide =
      b.node("DequantizeLinear", {b.constant(testing::integer_tensor(DataType::u8, {4, 8, 1, 1}, std::vector<int>(32, 250))),
                                  b.constant(floats({}, {0.001F})), b.constant(testing::integer_tensor(DataType::u8, {}, {3}))});
  const ValueId y = b.node("Conv", {x, wide});
  const ValueId z = b.node("Conv", {x, b.quantized_weights({4, 8, 1, 1}, 1, 8)});
  const ValueId s = b.node("Sigmoid", {x});
  expect_agrees(b.finish({b.quantize(y, {0.05F, 7}), b.quantize(z, {0.05F, 90}), b.quantize(s, {0.004F, 0})}), {{1, 8, 6, 6}}, 5,
                {0, {"DequantizeLinear"}});
}

TEST(Quantized, TwoNetworksAtOnce) {
  QuantizedBuilder b(6);
  const ValueId x = b.through(b.input({-1, 16, 8, 8}), {0.03F, 120});
  const ValueId y = b.node("Relu", {b.node("Conv", {x, b.quantized_weights({16, 16, 3, 3}, 0, 144)}, window(3, 1, 1))});
  const Graph graph = b.finish({b.quantize(y, {0.03F, 0})});
  Network first(graph, {.batch_sizes = {1, 16, 3}}, Integers::computed_with);
  Network second(graph, {.batch_sizes = {3}}, Integers::computed_with);
  for (const int64_t batch : {1, 3, 16}) {
    std::mt19937 random(static_cast<uint32_t>(batch));
    const std::vector<Tensor> inputs{testing::random_tensor({batch, 16, 8, 8}, random)};
    const auto expected = evaluate(graph, inputs);
    expect_same_integers(expected[0], run(first, graph, inputs, batch)[0]);
    if (batch == 3) expect_same_integers(expected[0], run(second, graph, inputs, batch)[0]);
  }
}

}  // namespace
}  // namespace deepgap
