// A small network as a Model, samples for it and what it answers: for the tests of this folder.
#pragma once

#include "base/test_model.h"
#include "engine/test_graphs.h"
#include "model/graph_tools.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace deepgap::testing {

struct SummarizedModel : TestModel {
  explicit SummarizedModel(Graph graph) : TestModel(std::move(graph)) { summary_ = summarize(graph_); }
};

inline Graph small_net(int64_t batch = -1) {
  GraphBuilder b;
  const ValueId x = b.input({batch, 3, 16, 16});
  const ValueId features = b.node("Relu", {b.batch_norm(b.conv(x, 3, 16, 3, 2), 16)});
  const ValueId flat =
      b.node("Flatten", {b.node("GlobalAveragePool", {b.node("Relu", {b.node("Add", {b.conv(features, 16, 16, 3), features})})})});
  return b.finish({b.node("Gemm", {flat, b.weights({10, 16}), b.weights({10})}, {{"transB", int64_t{1}}})});
}

// Samples in memory of their own, so that a batch must be gathered, or one after the other.
struct Samples {
  explicit Samples(size_t count, bool adjacent) {
    std::mt19937 random(3);
    block = random_tensor({static_cast<int64_t>(count), 3, 16, 16}, random);
    constexpr size_t elements = 3 * 16 * 16;
    for (size_t i = 0; i < count; ++i) {
      const float* data = block.as<float>().data() + i * elements;
      copies.emplace_back(data, data + elements);
      if (!adjacent) data = copies.back().data();
      views.push_back({TensorView{DataType::f32, shape, reinterpret_cast<const std::byte*>(data)}});
    }
  }
  Shape shape{1, 3, 16, 16};
  Tensor block;
  std::vector<std::vector<float>> copies;
  std::vector<std::vector<TensorView>> views;
};

inline void expect_rows(const TensorView& output, const Tensor& reference, const std::vector<uint32_t>& samples) {
  ASSERT_EQ(output.shape[0], static_cast<int64_t>(samples.size()));
  for (size_t i = 0; i < samples.size(); ++i) {
    Tensor row = floats(
        {10}, std::vector<float>(reference.as<float>().begin() + samples[i] * 10, reference.as<float>().begin() + samples[i] * 10 + 10));
    EXPECT_GT(sqnr_db(row, output.as<float>().subspan(i * 10, 10)), 105) << "row " << i;
  }
}

}  // namespace deepgap::testing
