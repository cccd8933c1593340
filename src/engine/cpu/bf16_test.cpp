// Networks computed in BF16 against the reference interpreter: about eight bits of each number are kept.
#include "engine/cpu/isa.h"
#include "engine/cpu/network.h"
#include "engine/test_graphs.h"
#include "model/eval/evaluator.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::GraphBuilder;

constexpr double least_db = 40;

// Share of the multiply-accumulates that is expected in BF16; attention multiplies in BF16 only on AMX.
double most() { return uses_amx() ? 1 - 1e-9 : 0.9; }

void expect_agrees(const Graph& graph, const std::vector<Shape>& shapes, uint32_t seed, double least_share) {
  if (!computes_bf16()) GTEST_SKIP() << "BF16 needs AVX-512, this process computes with " << isa_description();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  std::vector<const std::byte*> in;
  for (const auto& shape : shapes) inputs.push_back(testing::random_tensor(shape, random));
  for (const auto& tensor : inputs) in.push_back(tensor.data.get());
  const auto expected = evaluate(graph, inputs);
  Network network(graph, {.batch_sizes = {shapes[0][0]}, .threads = 2, .pin = false, .compute_type = ComputeType::bf16});
  const auto* plan = network.plan_for(shapes[0][0]);
  std::vector<std::vector<float>> results;
  std::vector<std::byte*> out;
  for (const auto& shape : plan->outputs) {
    results.emplace_back(static_cast<size_t>(element_count(shape)));
    out.push_back(reinterpret_cast<std::byte*>(results.back().data()));
  }
  network.run(*plan, in, out);
  network.run(*plan, in, out);
  for (size_t i = 0; i < results.size(); ++i) {
    const double db = testing::sqnr_db(expected[i], results[i]);
    EXPECT_GT(db, least_db) << "output " << i;
    EXPECT_LT(db, 100) << "output " << i << " is FP32";
  }
  EXPECT_GT(network.precision_shares()["bf16"], least_share);
}

std::map<std::string, Attribute> window(int64_t kernel, int64_t stride, int64_t pad) {
  return {{"kernel_shape", std::vector<int64_t>{kernel, kernel}},
          {"strides", std::vector<int64_t>{stride, stride}},
          {"pads", std::vector<int64_t>{pad, pad, pad, pad}}};
}

TEST(Bf16, ResidualBlocksAndPools) {
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    GraphBuilder b(seed);
    const int64_t batch = std::array<int64_t, 3>{1, 3, 16}[seed % 3];
    const ValueId x = b.input({batch, 3, 17, 17});
    const ValueId stem = b.node("MaxPool", {b.node("Relu", {b.batch_norm(b.conv(x, 3, 24, 3, 2), 24)})}, window(3, 2, 1));
    const ValueId sum = b.node("Relu", {b.node("Add", {b.conv(b.conv(stem, 24, 24, 3, 1, 24), 24, 24, 1), stem})});
    const ValueId gate = b.node("Sigmoid", {b.conv(b.node("GlobalAveragePool", {sum}), 24, 24, 1)});
    const ValueId scaled = b.node("Mul", {sum, gate});
    const ValueId joined = b.node("Concat", {scaled, b.conv(stem, 24, 8, 1)}, {{"axis", int64_t{1}}});
    const ValueId mean = b.node("AveragePool", {joined}, window(2, 2, 0));
    const ValueId flat = b.node("Flatten", {b.node("GlobalAveragePool", {mean})});
    const ValueId logits = b.node("Gemm", {flat, b.weights({10, 32}), b.weights({10})}, {{"transB", int64_t{1}}});
    expect_agrees(b.finish({logits, b.node("Softmax", {logits}), mean}), {{batch, 3, 17, 17}}, seed, most());
  }
}

TEST(Bf16, AttentionAndWhatOnlyTheEvaluatorHas) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    GraphBuilder b(seed);
    const ValueId x = b.input({2, 6, 32});
    const ValueId norm = b.node("Abs", {x});
    const ValueId q = b.node("Add", {b.node("MatMul", {norm, b.weights({32, 32})}), b.weights({32})});
    const ValueId k = b.node("Transpose", {b.node("MatMul", {norm, b.weights({32, 32})})}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    const ValueId scores = b.node("Softmax", {b.node("MatMul", {q, k})});
    const ValueId mixed = b.node("Add", {b.node("MatMul", {scores, norm}), x});
    const ValueId wide = b.node("Tanh", {b.node("MatMul", {mixed, b.weights({32, 48})})});
    const ValueId mean = b.node("ReduceMean", {wide}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}});
    expect_agrees(b.finish({b.node("Gemm", {mean, b.weights({48, 7})})}), {{2, 6, 32}}, seed, most());
  }
}

// Everything beyond all windows is zero, though the memory held the wide input before.
TEST(Bf16, TransposedConvolutionBeyondItsWindows) {
  GraphBuilder b;
  const ValueId x = b.node("Conv", {b.input({1, 512, 3, 6, 6}), b.weights({4, 512, 1, 1, 1})});
  const ValueId y = b.node("ConvTranspose", {x, b.weights({4, 3, 2, 2, 4})},
                           {{"strides", std::vector<int64_t>{2, 3, 3}},
                            {"pads", std::vector<int64_t>{0, 0, 3, 0, 0, 0}},
                            {"output_padding", std::vector<int64_t>{1, 2, 2}}});
  expect_agrees(b.finish({y}), {{1, 512, 3, 6, 6}}, 1, 0.2);
}

}  // namespace
}  // namespace deepgap
