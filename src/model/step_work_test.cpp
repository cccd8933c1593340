#include "model/step_work.h"

#include "model/graph_tools.h"
#include "model/model_source.h"
#include "model/onnx_test_files.h"
#include "model/train_work.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using Pass = StepKernel::Pass;

// x [N,4] -> product 4x3 -> Relu -> product 3x2
Graph two_layers() {
  pb::ModelProto model = empty_model();
  auto* graph = model.mutable_graph();
  describe_value(graph->add_input(), "x", {-1, 4});
  describe_value(graph->add_output(), "y", {});
  add_floats(graph, "a", {4, 3});
  add_floats(graph, "b", {3, 2});
  add_node(graph, "MatMul", {"x", "a"}, {"h"}, "first");
  add_node(graph, "Relu", {"h"}, {"r"}, "relu");
  add_node(graph, "MatMul", {"r", "b"}, {"y"}, "second");
  return read_model(model);
}

std::vector<std::string> names(const StepWork& step, Pass pass) {
  std::vector<std::string> found;
  for (const StepKernel& kernel : step.kernels)
    if (kernel.pass == pass) found.push_back(kernel.work.name);
  return found;
}

TEST(StepWork, OfTwoLayersByHand) {
  const StepWork step = step_work(two_layers(), {.optimizer = Optimizer::adam});
  EXPECT_EQ(names(step, Pass::forward), (std::vector<std::string>{"first", "relu", "second"})) << "nothing joins";
  EXPECT_EQ(names(step, Pass::backward), (std::vector<std::string>{"second", "second", "relu", "first"}))
      << "from the end; nobody asks for the input's gradient";
  EXPECT_EQ(step.kernels[0].work.kind, KernelWork::Kind::product);
  EXPECT_EQ(step.kernels[0].work.macs, 12);
  EXPECT_EQ(step.kernels[0].work.activations, 4 + 3);
  EXPECT_EQ(step.kernels[0].work.weights, 12);
  EXPECT_EQ(step.kernels[1].work.kind, KernelWork::Kind::other);
  EXPECT_EQ(step.inputs, 4);
  EXPECT_EQ(step.kept_activations, 4 + 3) << "x for the first, the Relu's result for itself and for the second";
  EXPECT_EQ(step.weight_bytes, 4 * 18);
  EXPECT_EQ(step.gradient_bytes, 4 * 18);
  EXPECT_EQ(step.optimizer_bytes, 2 * 4 * 18) << "two moments";
  EXPECT_EQ(step_work(two_layers(), {.optimizer = Optimizer::sgd}).optimizer_bytes, 0);
  const StepKernel& update = step.kernels.back();
  EXPECT_EQ(update.pass, Pass::update);
  EXPECT_EQ(update.fixed_bytes, train_work(two_layers(), {.optimizer = Optimizer::adam}).update_bytes);
  EXPECT_EQ(update.work.activations, 0);
}

TEST(StepWork, MultiplyAccumulatesAreThoseOfTheStep) {
  for (const char* name : {"resnet50", "mobilenet_v3_large:dropout=0", "vit_b_32"}) {
    const TrainSettings settings;
    const StepWork step = step_work_of({.name = name}, settings);
    int64_t sum = 0;
    for (const StepKernel& kernel : step.kernels) sum += kernel.work.macs;
    const int64_t forward = summarize_model({.name = name}).macs_per_item;
    EXPECT_GT(sum, 2.8 * static_cast<double>(forward)) << name;
    EXPECT_LE(sum, 3 * forward) << name;
  }
}

// What an H200 was seen to keep of ResNet-50 at batch 64: 5251 MiB (docs/results/training).
TEST(StepWork, KeepsOfResNetWhatLibTorchKeeps) {
  const StepWork step = step_work_of({.name = "resnet50"}, {});
  EXPECT_NEAR(4.0 * 64 * static_cast<double>(step.kept_activations) / 1048576, 5251, 0.05 * 5251);
  EXPECT_NEAR(static_cast<double>(step.weight_bytes) / 1048576, 97.69, 0.01);
  EXPECT_NEAR(static_cast<double>(step.gradient_bytes) / 1048576, 97.49, 0.01);
  EXPECT_EQ(step.optimizer_bytes, step.gradient_bytes);
}

TEST(StepWork, OpenSizesAreRefused) {
  Graph graph = two_layers();
  graph.values[static_cast<size_t>(graph.inputs[0])].dims = Dims{{1, "N"}, {1, "W"}};
  EXPECT_THROW(step_work(graph, {}), Error);
}

}  // namespace
}  // namespace deepgap
