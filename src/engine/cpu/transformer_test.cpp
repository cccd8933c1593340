// Tests the parts of transformers, compiled for the CPU, against the reference interpreter.
#include "engine/cpu/isa.h"
#include "engine/cpu/network.h"
#include "engine/test_graphs.h"
#include "model/eval/evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace deepgap {
namespace {

using testing::floats;
using testing::GraphBuilder;

std::vector<std::string> ops_of(const Network& network, int64_t batch) {
  std::vector<std::string> ops;
  for (const auto& step : network.plan_for(batch)->executable->steps()) ops.push_back(step.op);
  return ops;
}

// Returns the operators of the steps.
std::vector<std::string> expect_agrees(const Graph& graph, const std::vector<Tensor>& inputs, ComputeType compute_type, double min_db) {
  const auto expected = evaluate(graph, inputs);
  std::vector<const std::byte*> in;
  for (const auto& tensor : inputs) in.push_back(tensor.data.get());
  const int64_t batch = inputs[0].shape[0];
  Network network(graph, {.batch_sizes = {batch}, .threads = 2, .pin = false, .compute_type = compute_type});
  std::vector<float> got(static_cast<size_t>(element_count(expected[0].shape)));
  std::vector<std::byte*> out{reinterpret_cast<std::byte*>(got.data())};
  network.run(*network.plan_for(batch), in, out);
  network.run(*network.plan_for(batch), in, out);  // the remains of the first run must not matter
  EXPECT_GT(testing::sqnr_db(expected[0], got), min_db);
  return ops_of(network, batch);
}

struct Sizes {
  int64_t batch, heads, queries, keys, depth, columns;
};

enum class Mask { none, padding, full };

// A product's result lies in BF16 where numbers do.
ValueId projected(GraphBuilder& b, const Shape& shape, const std::string& name) {
  return b.node("MatMul", {b.input(shape, name), b.weights({shape.back(), shape.back()})});
}

// Builds attention whose operands lie as projections leave them: [batch, position, head, depth].
Graph attention(GraphBuilder& b, const Sizes& s, Mask mask, bool transposed) {
  const auto order = [](const std::vector<int64_t>& axes) { return std::map<std::string, Attribute>{{"perm", axes}}; };
  ValueId q, k, v;
  if (transposed) {
    q = b.node("Transpose", {projected(b, {s.batch, s.queries, s.heads, s.depth}, "q")}, order({0, 2, 1, 3}));
    k = b.node("Transpose", {projected(b, {s.batch, s.keys, s.heads, s.depth}, "k")}, order({0, 2, 3, 1}));
    v = b.node("Transpose", {projected(b, {s.batch, s.keys, s.heads, s.columns}, "v")}, order({0, 2, 1, 3}));
  } else {
    q = projected(b, {s.batch, s.heads, s.queries, s.depth}, "q");
    k = projected(b, {s.batch, s.heads, s.depth, s.keys}, "k");
    v = projected(b, {s.batch, s.heads, s.keys, s.columns}, "v");
  }
  ValueId scores = b.node("Mul", {b.node("MatMul", {q, k}), b.constant(floats({}, {1 / std::sqrt(static_cast<float>(s.depth))}))});
  if (mask == Mask::padding) scores = b.node("Add", {scores, b.input({s.batch, 1, 1, s.keys}, "mask")});
  if (mask == Mask::full) scores = b.node("Add", {scores, b.input({1, s.heads, s.queries, s.keys}, "mask")});
  const ValueId out = b.node("MatMul", {b.node("Softmax", {scores}), v});
  return b.finish({transposed ? b.node("Transpose", {out}, order({0, 2, 1, 3})) : out});
}

std::vector<Tensor> inputs_of(const Graph& graph, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) {
    inputs.push_back(testing::random_tensor(known_shape(graph, id), random));
    if (graph.values[static_cast<size_t>(id)].name != "mask") continue;
    for (float& value : writable<float>(inputs.back())) value = value > 1.5F ? -10000.0F : value;
  }
  return inputs;
}

class CpuAttention : public ::testing::TestWithParam<ComputeType> {};

TEST_P(CpuAttention, EqualsTheEvaluator) {
  if (GetParam() == ComputeType::bf16 && !computes_bf16())
    GTEST_SKIP() << "BF16 needs AVX-512, this process computes with " << isa_description();
  // One of everything; sizes beside every tile; several blocks of keys.
  const std::vector<Sizes> all{
      {1, 1, 1, 1, 1, 1}, {2, 3, 33, 47, 20, 13}, {1, 2, 197, 197, 64, 64}, {3, 1, 32, 12, 16, 12}, {1, 2, 7, 700, 8, 40}};
  uint32_t seed = 0;
  for (const Sizes& sizes : all)
    for (const Mask mask : {Mask::none, Mask::padding, Mask::full}) {
      SCOPED_TRACE("seed " + std::to_string(++seed));
      GraphBuilder b(seed);
      const Graph graph = attention(b, sizes, mask, seed % 2 == 0);
      const auto ops = expect_agrees(graph, inputs_of(graph, seed), GetParam(), GetParam() == ComputeType::bf16 ? 35 : 105);
      EXPECT_EQ(std::count(ops.begin(), ops.end(), "Attention"), 1);
      EXPECT_EQ(std::count(ops.begin(), ops.end(), "Transpose"), 0);
    }
}

INSTANTIATE_TEST_SUITE_P(ComputeTypes, CpuAttention, ::testing::Values(ComputeType::f32, ComputeType::bf16));

TEST(CpuAttentionMask, MinusInfinityHides) {
  GraphBuilder b;
  const Graph graph = attention(b, {1, 1, 2, 300, 4, 4}, Mask::padding, false);
  auto inputs = inputs_of(graph, 3);
  const auto mask = writable<float>(inputs[3]);
  for (size_t i = 0; i < 299; ++i) mask[i] = -std::numeric_limits<float>::infinity();  // a whole block, too
  expect_agrees(graph, inputs, ComputeType::f32, 110);
}

class CpuLayerNorm : public ::testing::TestWithParam<ComputeType> {};

TEST_P(CpuLayerNorm, EqualsTheEvaluator) {
  if (GetParam() == ComputeType::bf16 && !computes_bf16())
    GTEST_SKIP() << "BF16 needs AVX-512, this process computes with " << isa_description();
  for (const bool wide : {false, true}) {
    GraphBuilder b;
    const ValueId x = b.node("MatMul", {b.input({2, 5, 24}), b.weights({24, 24})});
    const Shape row = wide ? Shape{5, 24} : Shape{24};
    const ValueId y = b.node("LayerNormalization", {x, b.weights(row), b.weights(row)}, {{"axis", int64_t{wide ? 1 : -1}}});
    const Graph graph = b.finish({b.node("MatMul", {y, b.weights({24, 7})})});
    const auto ops = expect_agrees(graph, inputs_of(graph, 1), GetParam(), GetParam() == ComputeType::bf16 ? 35 : 105);
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "LayerNormalization"), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(ComputeTypes, CpuLayerNorm, ::testing::Values(ComputeType::f32, ComputeType::bf16));

// A product of many matrices with one, its bias, Gelu and a residual: one primitive.
TEST(CpuTransformer, LinearLayerTakesItsPosts) {
  GraphBuilder b;
  const ValueId x = b.input({2, 9, 16});
  const ValueId up = b.node("Add", {b.node("MatMul", {x, b.weights({16, 32})}), b.weights({32})});
  const ValueId wide = b.node("Tanh", {up});
  const ValueId down = b.node("Add", {b.weights({1, 1, 16}), b.node("MatMul", {wide, b.weights({32, 16})})});
  const Graph graph = b.finish({b.node("Add", {down, b.node("Mul", {x, x})})});
  const auto ops = expect_agrees(graph, inputs_of(graph, 1), ComputeType::f32, 105);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "Add"), 0);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "MatMul"), 2);
}

}  // namespace
}  // namespace deepgap
