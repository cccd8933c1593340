#include "model/step_work.h"

#include "model/graph_tools.h"
#include "model/model_source.h"
#include "model/onnx_test_files.h"
#include "model/train_work.h"
#include "model/two_layers.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace deepgap {
namespace {

using Pass = StepKernel::Pass;

std::vector<std::string> names(const StepWork& step, Pass pass, bool copies) {
  std::vector<std::string> found;
  for (const StepKernel& kernel : step.kernels)
    if (kernel.pass == pass && kernel.only_in_16_bits == copies) found.push_back(kernel.work.name);
  return found;
}

TEST(StepWork, OfTwoLayersByHand) {
  const StepWork step = step_work(two_layers(), {.optimizer = Optimizer::adam});
  EXPECT_EQ(names(step, Pass::forward, false), (std::vector<std::string>{"first", "relu", "second"})) << "nothing joins";
  EXPECT_EQ(names(step, Pass::backward, false), (std::vector<std::string>{"second", "second", "relu", "first"}))
      << "from the end; nobody asks for the input's gradient";
  EXPECT_EQ(names(step, Pass::forward, true), (std::vector<std::string>{"first.copy", "first.copy", "second.copy"}))
      << "x and both weights; the Relu's result is narrow as it is";
  EXPECT_EQ(names(step, Pass::backward, true), (std::vector<std::string>{"second.copy", "first.copy"}))
      << "gradients of weights, in float32";
  const StepKernel& first =
      *std::find_if(step.kernels.begin(), step.kernels.end(), [](const auto& kernel) { return !kernel.only_in_16_bits; });
  EXPECT_EQ(first.work.kind, KernelWork::Kind::product);
  EXPECT_EQ(first.work.macs, 12);
  EXPECT_EQ(first.work.activations, 4 + 3);
  EXPECT_EQ(first.wide_activations, 0) << "a product reads and writes the precision's numbers";
  EXPECT_EQ(first.work.weights, 12);
  EXPECT_EQ(step.inputs, 4);
  EXPECT_EQ(step.kept_activations, 3) << "the Relu's result, for itself and for the second";
  EXPECT_EQ(step.kept_only_in_32_bits, 4) << "x for the first";
  EXPECT_EQ(step.kept_copies, 4);
  EXPECT_EQ(step.copied_weights, 12 + 6);
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

// LibTorch's allocator counted this on an H200 at batch 64, MiB (docs/results/lab-notes/training.md): in float32 and by autocast.
TEST(StepWork, KeepsWhatLibTorchKeeps) {
  struct Seen {
    const char* name;
    double in_32_bits, in_16_bits;
  };
  for (const auto& [name, in_32_bits, in_16_bits] : {Seen{"resnet50", 5251.45, 2736.00}, Seen{"mobilenet_v3_large", 2716.19, 1370.68},
                                                     Seen{"vit_b_32", 2862.06, 2495.84}, Seen{"digits_cnn", 3.06885, 1.79150}}) {
    const StepWork step = step_work_of({.name = name}, {});
    const auto narrow = static_cast<double>(step.kept_activations), wide = static_cast<double>(step.kept_wide);
    const double full = 4 * 64 * (narrow + wide + static_cast<double>(step.kept_only_in_32_bits));
    const double half =
        64 * (2 * narrow + 4 * wide + 2 * static_cast<double>(step.kept_copies)) + 2 * static_cast<double>(step.copied_weights);
    EXPECT_NEAR(full / 1048576, in_32_bits, 0.02 * in_32_bits) << name;
    EXPECT_NEAR(half / 1048576, in_16_bits, 0.03 * in_16_bits) << name;
  }
  const StepWork step = step_work_of({.name = "resnet50"}, {});
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
