#include "training/train_check.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

Tensor weight(const std::vector<float>& values) {
  Tensor tensor = make_tensor(DataType::f32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}

TEST(TrainCheck, WhatCountsIsHowFarTheWeightsMoved) {
  const std::map<std::string, Tensor> begin{{"w", weight({100, 100})}};
  const TrainResult reference{{2.0, 1.5}, {{"w", weight({101, 100})}}};
  const TrainResult near{{2.0, 1.4}, {{"w", weight({101.1F, 100})}}};
  const CheckResult check = compare_training(reference, near, begin);
  EXPECT_NEAR(check.sqnr_db, 20, 0.01) << "a tenth of the movement, whatever the weights";
  EXPECT_NEAR(check.max_abs_error, 0.1, 1e-9);
  EXPECT_NEAR(check.mean_abs_error, 0.05, 1e-9);
  EXPECT_EQ(compare_training(reference, reference, begin).sqnr_db, 300);
}

TEST(TrainCheck, ANetworkThatStoodStillIsWrong) {
  const std::map<std::string, Tensor> begin{{"w", weight({1, 1})}};
  const TrainResult reference{{2.0}, {{"w", weight({2, 2})}}}, still{{2.0}, begin};
  EXPECT_NEAR(compare_training(reference, still, begin).sqnr_db, 0, 1e-9);
}

TEST(TrainCheck, OtherWeightsAreNamed) {
  const std::map<std::string, Tensor> begin{{"w", weight({1, 1})}};
  EXPECT_THROW(compare_training({{2.0}, {{"v", weight({1, 1})}}}, {{2.0}, begin}, begin), Error);
}

TEST(TrainCheck, RandomNumbersOfAGpuAreNotTheReferences) {
  Graph graph;
  graph.values = {{"x", DataType::f32, std::nullopt}, {"y", DataType::f32, std::nullopt}, {"ratio", DataType::f32, Dims{}}};
  graph.nodes = {{"head.drop", "Dropout", "", {0, 2}, {1}, {}}};
  graph.constants[2] = make_tensor(DataType::f32, {});
  writable<float>(graph.constants[2])[0] = 0;
  Point on_cpu, on_gpu;
  on_gpu.placement.devices = {{"", "cuda", 0}};
  EXPECT_EQ(no_train_reference(on_gpu, graph), "") << "of which it drops nothing";
  writable<float>(graph.constants[2])[0] = 0.2F;
  EXPECT_EQ(no_train_reference(on_cpu, graph), "");
  EXPECT_EQ(no_train_reference(on_gpu, graph),
            "no reference: Dropout (node 'head.drop') draws other random numbers on cuda than on the CPU");
}

TEST(TrainCheck, OfLargeWeightsFewElementsAreKept) {
  std::vector<float> many(10'000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
  const auto kept = sampled_weights({{"large", weight(many)}, {"small", weight({1, 2, 3})}});
  EXPECT_EQ(kept.at("large").shape, Shape{4096});
  EXPECT_EQ(kept.at("large").as<float>()[4095], 9997);
  EXPECT_EQ(kept.at("small").shape, Shape{3});
}

}  // namespace
}  // namespace deepgap
