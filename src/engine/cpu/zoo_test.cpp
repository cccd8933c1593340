// Whole networks of the zoo, on small images, against the reference interpreter.
#include "model/zoo/zoo.h"
#include "engine/cpu/network.h"
#include "engine/test_graphs.h"
#include "model/eval/evaluator.h"
#include "model/weights/seeded.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

Graph small_network(const std::string& name, int64_t size) {
  ZooOptions options;
  Graph graph = find_zoo_model(name, options)->build(options);
  seed_weights(graph, 1, "");
  return bind_shapes(graph, {{graph.values[static_cast<size_t>(graph.inputs[0])].name, {-1, 3, size, size}}});
}

Tensor pictures(int64_t batch, int64_t size) {
  Tensor tensor = make_tensor(DataType::f32, {batch, 3, size, size});
  const auto per_sample = static_cast<size_t>(3 * size * size);
  for (int64_t i = 0; i < batch; ++i)
    fill_smooth(writable<float>(tensor).subspan(static_cast<size_t>(i) * per_sample, per_sample), 3, size, size, 5,
                static_cast<uint64_t>(i));
  return tensor;
}

void expect_agrees(const std::string& name, int64_t size, int64_t batch, double min_db) {
  const Graph graph = small_network(name, size);
  const std::vector<Tensor> inputs{pictures(batch, size)};
  const auto expected = evaluate(graph, inputs);
  Network network(graph, {{batch}, 2, false});
  const auto* plan = network.plan_for(batch);
  std::vector<float> result(static_cast<size_t>(element_count(plan->outputs.at(0))));
  const std::byte* in[] = {inputs[0].data.get()};
  std::byte* out[] = {reinterpret_cast<std::byte*>(result.data())};
  network.run(*plan, in, out);
  EXPECT_GT(testing::sqnr_db(expected[0], result), min_db) << name;
  for (const auto& step : plan->executable->steps()) EXPECT_FALSE(step.function) << name << ": " << step.name;
  // One arena from lifetimes: close to what must live at once.
  EXPECT_LE(plan->executable->arena_bytes(), plan->executable->min_arena_bytes() * 5 / 4) << name;
}

TEST(CpuZoo, ResNet18) { expect_agrees("resnet18", 64, 2, 100); }

TEST(CpuZoo, MobileNetV2) { expect_agrees("mobilenet_v2:width=0.5", 32, 2, 90); }

TEST(CpuZoo, EfficientNetLite0) { expect_agrees("efficientnet_lite0:width=0.5", 32, 1, 90); }

TEST(CpuZoo, Vgg16) { expect_agrees("vgg16:width=0.125,image=64", 64, 2, 100); }

TEST(CpuZoo, DenseNet121) { expect_agrees("densenet121:width=0.25", 64, 1, 90); }

TEST(CpuZoo, MobileNetV1) { expect_agrees("mobilenet_v1:width=0.5", 64, 2, 80); }

TEST(CpuZoo, MobileNetV3) { expect_agrees("mobilenet_v3_small:width=0.5", 64, 2, 90); }

TEST(CpuZoo, ShuffleNetV2) { expect_agrees("shufflenet_v2:width=0.5,image=64", 64, 2, 90); }

TEST(CpuZoo, InceptionV3) { expect_agrees("inception_v3:width=0.125", 96, 1, 90); }

}  // namespace
}  // namespace deepgap
