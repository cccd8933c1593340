#include "backends/libtorch/train/torch_all_reduce.h"

#include "backends/libtorch/train/torch_trainer.h"
#include "backends/libtorch/train/trained_network.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;

// Writes down what comes, and averages with nobody.
class Listener final : public GradientAverager {
 public:
  void average(std::span<const at::Tensor> gradients) override {
    int64_t numbers = 0;
    for (const at::Tensor& gradient : gradients) numbers += gradient.numel();
    heard.push_back(std::to_string(numbers));
  }
  void finish() override { heard.emplace_back("finish"); }
  std::vector<std::string> heard;
};

struct Heard : testing::Test {
  std::vector<std::string> step(size_t bucket_bytes, const TrainSettings& settings = {}) {
    const auto model = small_network({});
    TorchTrainer trainer(*model, train_target(), settings);
    trainer.prepare(6);
    Listener listener;
    trainer.average_gradients(listener, bucket_bytes);
    for (int i = 0; i < 2; ++i) {  // and the second one as the first
      listener.heard.clear();
      trainer.step(6, pictures(6), [&](TrainPart part) {
        if (part == TrainPart::backward) listener.heard.emplace_back("backward");
      });
    }
    return listener.heard;
  }
};

// The kernel has 18 numbers, the scale 2, the shift 2 and the head 96, in the forward pass's order.
TEST_F(Heard, BucketsAreSentWhileTheBackwardPassGoesOnLastLayersFirst) {
  EXPECT_THAT(step(1), ElementsAre("96", "2", "2", "18", "backward", "finish"));
  EXPECT_THAT(step(16), ElementsAre("96", "4", "18", "backward", "finish"));
  EXPECT_THAT(step(1 << 20), ElementsAre("118", "backward", "finish"));
}

TEST_F(Heard, WithoutBucketsAllIsSentAfterIt) { EXPECT_THAT(step(0), ElementsAre("backward", "118", "finish")); }

TEST_F(Heard, OfAccumulatedPartsTheLastOnesGradientsAreSent) {
  TrainSettings parts;
  parts.accumulation = 2;
  EXPECT_THAT(step(1, parts), ElementsAre("backward", "96", "2", "2", "18", "backward", "finish"));
}

TEST_F(Heard, GradientsThatNobodyMadeAreZeros) {
  const std::vector<at::Tensor> weights{at::ones({3}).set_requires_grad(true)};
  Listener listener;
  TorchAllReduce all_reduce(weights, listener, 1);
  all_reduce.begin();
  all_reduce.finish();
  EXPECT_THAT(listener.heard, ElementsAre("3", "finish"));
  EXPECT_EQ(weights[0].grad().sum().item<float>(), 0);
}

}  // namespace
}  // namespace deepgap
