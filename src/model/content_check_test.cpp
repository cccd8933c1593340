#include "model/content_check.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace deepgap {
namespace {

template <typename T>
Tensor tensor_of(DataType type, Shape shape, const std::vector<T>& values) {
  Tensor tensor = make_tensor(type, std::move(shape));
  std::copy(values.begin(), values.end(), writable<T>(tensor).begin());
  return tensor;
}

Dims dims_of(const Shape& shape) {
  Dims dims;
  for (const int64_t size : shape) dims.push_back({size, ""});
  return dims;
}

// x [1,2] -> QuantizeLinear(scale, zero point) -> DequantizeLinear(the same) -> y
struct Pair {
  Tensor scale = tensor_of<float>(DataType::f32, {2}, {0.5F, 0.25F});
  Tensor quantize_zero = tensor_of<uint8_t>(DataType::u8, {2}, {0, 128});
  Tensor dequantize_zero = quantize_zero;

  Graph graph() const {
    Graph graph;
    const auto value = [&](const std::string& name, DataType type, const Shape& shape) {
      graph.values.push_back({name, type, dims_of(shape)});
      return static_cast<ValueId>(graph.values.size()) - 1;
    };
    const auto constant = [&](const std::string& name, const Tensor& tensor) {
      const ValueId id = value(name, tensor.type, tensor.shape);
      graph.constants.emplace(id, tensor);
      return id;
    };
    const ValueId x = value("x", DataType::f32, {1, 2}), q = value("q", DataType::u8, {1, 2}), y = value("y", DataType::f32, {1, 2});
    const ValueId s = constant("s", scale);
    graph.nodes.push_back({"quantize", "QuantizeLinear", "", {x, s, constant("z", quantize_zero)}, {q}, {}});
    graph.nodes.push_back({"dequantize", "DequantizeLinear", "", {q, s, constant("z2", dequantize_zero)}, {y}, {}});
    graph.inputs = {x};
    graph.outputs = {y};
    return graph;
  }
};

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "taken";
}

std::string refusal(const Pair& pair) {
  return refusal([&] { check_scaling(pair.graph()); });
}

TEST(CheckScaling, TakesWhatIsRight) {
  EXPECT_EQ(refusal(Pair{}), "taken");
  Pair one;
  one.scale = tensor_of<float>(DataType::f32, {}, {1e-30F});
  one.quantize_zero = one.dequantize_zero = tensor_of<uint8_t>(DataType::u8, {}, {7});
  EXPECT_EQ(refusal(one), "taken");
}

TEST(CheckScaling, NamesAScaleThatIsNone) {
  const auto with = [](float scale) {
    Pair pair;
    pair.scale = tensor_of<float>(DataType::f32, {2}, {1, scale});
    return refusal(pair);
  };
  const std::string tail = "; a scale must be a positive normal number";
  EXPECT_EQ(with(0), "node 'quantize' (QuantizeLinear): scale 1 is zero (0)" + tail);
  EXPECT_EQ(with(-1), "node 'quantize' (QuantizeLinear): scale 1 is negative (-1)" + tail);
  EXPECT_EQ(with(INFINITY), "node 'quantize' (QuantizeLinear): scale 1 is infinite (inf)" + tail);
  EXPECT_EQ(with(NAN), "node 'quantize' (QuantizeLinear): scale 1 is NaN (nan)" + tail);
  EXPECT_EQ(with(1e-40F), "node 'quantize' (QuantizeLinear): scale 1 is a denormal number (9.99995e-41)" + tail);
}

TEST(CheckScaling, AScaleIsOneValueOrOneForEachSlice) {
  Pair pair;
  pair.scale = tensor_of<float>(DataType::f32, {1, 2}, {1, 1});
  EXPECT_EQ(refusal(pair),
            "node 'quantize' (QuantizeLinear): its scale has 2 dimensions; it is one value, or one for each slice of the axis");
}

TEST(CheckScaling, NamesAZeroPointThatDoesNotFit) {
  Pair pair;
  pair.dequantize_zero = tensor_of<int8_t>(DataType::i8, {2}, {0, 0});
  EXPECT_EQ(refusal(pair), "node 'dequantize' (DequantizeLinear): the zero point is int8, the levels are uint8");
  pair = {};
  pair.quantize_zero = tensor_of<int32_t>(DataType::i32, {2}, {0, 0});
  EXPECT_EQ(refusal(pair), "node 'quantize' (QuantizeLinear): the zero point is int32, to which nothing is quantized");
  pair = {};
  pair.quantize_zero = tensor_of<float>(DataType::f32, {2}, {0, 0});
  EXPECT_EQ(refusal(pair), "node 'quantize' (QuantizeLinear): the zero point is float32, which cannot hold quantized levels");
  pair = {};
  pair.quantize_zero = tensor_of<uint8_t>(DataType::u8, {}, {0});
  EXPECT_EQ(refusal(pair), "node 'quantize' (QuantizeLinear): 1 zero points for 2 scales");
  pair = {};
  pair.scale = tensor_of<int32_t>(DataType::i32, {2}, {1, 1});
  EXPECT_EQ(refusal(pair), "node 'quantize' (QuantizeLinear): its scale is int32; float32, float16 and bfloat16 are allowed");
}

TEST(CheckScaling, AnAxisOutOfRangeIsFoundByShapeInference) {
  Pair pair;
  Graph graph = pair.graph();
  graph.nodes[0].attributes["axis"] = int64_t{5};
  EXPECT_NE(refusal([&] { infer_shapes(graph); }), "taken");
  pair.scale = tensor_of<float>(DataType::f32, {3}, {1, 1, 1});
  graph = pair.graph();
  EXPECT_NE(refusal([&] { infer_shapes(graph); }), "taken");
}

TEST(CheckConstants, NamesTheFirstNaN) {
  Pair pair;
  EXPECT_EQ(refusal([&] { check_constants(pair.graph()); }), "taken");
  pair.scale = tensor_of<float>(DataType::f32, {2}, {-INFINITY, NAN});
  EXPECT_EQ(refusal([&] { check_constants(pair.graph()); }),
            "constant 's' holds NaN at position 1: the network can answer nothing but NaN");
  pair.scale = tensor_of<uint16_t>(DataType::bf16, {2}, {0x7f80, 0x3f80});
  EXPECT_EQ(refusal([&] { check_constants(pair.graph()); }), "taken");
  pair.scale = tensor_of<uint16_t>(DataType::bf16, {2}, {0x7f80, 0xffc0});
  EXPECT_NE(refusal([&] { check_constants(pair.graph()); }), "taken");
  pair.scale = tensor_of<uint16_t>(DataType::f16, {2}, {0x7c00, 0x7e00});
  EXPECT_NE(refusal([&] { check_constants(pair.graph()); }), "taken");
}

}  // namespace
}  // namespace deepgap
