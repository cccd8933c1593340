#include "backends/libtorch/train/torch_trainer.h"

#include "backends/common/train_ports.h"
#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/train/trained_network.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using testing::HasSubstr;

// y = w x with w = 1
std::shared_ptr<const Model> one_weight() {
  Chain chain({{1, batch_symbol}, {1, ""}});
  return chain.node("MatMul", {chain.constant("w", floats({1, 1}, {1}))}).model();
}

float weight_of(const TorchTrainer& trainer) { return trainer.copied_weights().at("w").as<float>()[0]; }

// Losses of steps with x = 2 and target 0: the loss is 4 w^2, its gradient 8 w.
std::vector<double> steps(TorchTrainer& trainer, int count) {
  const std::vector<at::Tensor> inputs{at::full({1, 1}, 2.0F), at::full({1, 1}, 0.0F)};
  std::vector<double> losses;
  for (int i = 0; i < count; ++i) losses.push_back(trainer.step(1, inputs, [](TrainPart) {}).item<double>());
  return losses;
}

struct Trained {
  std::shared_ptr<const Model> model = one_weight();
  TorchTrainer trainer;
  explicit Trained(const TrainSettings& settings) : trainer(*model, train_target(), settings) { trainer.prepare(1); }
};

TEST(TorchTrainer, PlainDescentByHand) {
  Trained sgd({.optimizer = Optimizer::sgd, .loss = Loss::mse, .learning_rate = 0.1});
  EXPECT_THAT(steps(sgd.trainer, 2), testing::Pointwise(testing::DoubleNear(1e-5), {4.0, 4 * 0.2 * 0.2}));  // w: 1, 0.2
  EXPECT_NEAR(weight_of(sgd.trainer), 0.2 - 0.1 * 8 * 0.2, 1e-6);
}

TEST(TorchTrainer, MomentumAndWeightDecayByHand) {
  Trained t({.optimizer = Optimizer::momentum, .loss = Loss::mse, .learning_rate = 0.01, .momentum = 0.5, .weight_decay = 1});
  steps(t.trainer, 2);
  const double first = 1 - 0.01 * (8 + 1), velocity = 0.5 * 9 + 9 * first;
  EXPECT_NEAR(weight_of(t.trainer), first - 0.01 * velocity, 1e-6);
}

TEST(TorchTrainer, AdamBeginsWithTheLearningRate) {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adamw}) {
    Trained t({.optimizer = optimizer, .loss = Loss::mse, .learning_rate = 0.25});
    steps(t.trainer, 1);
    EXPECT_NEAR(weight_of(t.trainer), 0.75, 1e-5);
  }
  Trained decayed({.optimizer = Optimizer::adamw, .loss = Loss::mse, .learning_rate = 0.25, .weight_decay = 0.4});
  steps(decayed.trainer, 1);
  EXPECT_NEAR(weight_of(decayed.trainer), 0.9 - 0.25, 1e-5) << "decay is not part of the gradient";
}

TEST(TorchTrainer, ResetGivesTheSameLosses) {
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adamw}) {
    Trained t({.optimizer = optimizer, .loss = Loss::mse, .learning_rate = 0.01});
    const std::vector<double> first = steps(t.trainer, 4);
    t.trainer.reset();
    EXPECT_EQ(weight_of(t.trainer), 1);
    EXPECT_EQ(steps(t.trainer, 4), first);
    EXPECT_LT(first.back(), first.front());
  }
}

// Scaled by a power of two nothing changes; gradients that overflow leave the weights alone.
TEST(TorchTrainer, LossesAreScaledAndUnscaled) {
  Trained plain({.optimizer = Optimizer::sgd, .loss = Loss::mse, .learning_rate = 0.1, .loss_scale = 1});
  Trained scaled({.optimizer = Optimizer::sgd, .loss = Loss::mse, .learning_rate = 0.1, .loss_scale = 1024});
  EXPECT_EQ(steps(plain.trainer, 3), steps(scaled.trainer, 3));
  const std::vector<at::Tensor> huge{at::full({1, 1}, 1e30F), at::full({1, 1}, 0.0F)};
  const float before = weight_of(scaled.trainer);
  scaled.trainer.step(1, huge, [](TrainPart) {});
  EXPECT_EQ(weight_of(scaled.trainer), before);
}

std::vector<double> train(TorchTrainer& trainer, int64_t batch, int count) {
  std::vector<double> losses;
  for (int i = 0; i < count; ++i) losses.push_back(trainer.step(batch, pictures(batch), [](TrainPart) {}).item<double>());
  return losses;
}

TEST(TorchTrainer, ANetworkLearnsItsBatchAndMovesItsStatistics) {
  at::set_num_threads(1);
  const auto model = small_network({});
  const TrainSettings settings{.learning_rate = 0.1};
  for (const at::ScalarType autocast : {at::kFloat, at::kBFloat16}) {
    TorchTarget target = train_target();
    target.autocast = autocast;
    TorchTrainer trainer(*model, target, settings);
    trainer.prepare(6);
    const auto losses = train(trainer, 6, 30);
    EXPECT_NEAR(losses.front(), std::log(3.0), 0.7) << "of scores, not of their Softmax";
    EXPECT_LT(losses.back(), 0.1);
    const auto weights = trainer.copied_weights();
    EXPECT_EQ(weights.size(), 6u);
    EXPECT_NE(weights.at("mean").as<float>()[0], 0);
    EXPECT_NE(weights.at("variance").as<float>()[0], 1);
  }
}

TEST(TorchTrainer, AccumulatedPartsAreTheWholeBatch) {
  const auto model = small_network({.norm = false});  // statistics would be of the parts
  TrainSettings whole{.learning_rate = 0.1}, parts = whole;
  parts.accumulation = 3;
  TorchTrainer a(*model, train_target(), whole), b(*model, train_target(), parts);
  a.prepare(6), b.prepare(6);
  EXPECT_THAT(train(b, 6, 4), testing::Pointwise(testing::DoubleNear(1e-5), train(a, 6, 4)));
}

TEST(TorchTrainer, DropoutFollowsTheSeed) {
  const auto model = small_network({.dropout = true});
  TrainSettings settings{.learning_rate = 0.05, .seed = 3}, other = settings;
  other.seed = 4;
  TorchTrainer trainer(*model, train_target(), settings);
  trainer.prepare(6);
  const auto first = train(trainer, 6, 3);
  trainer.reset();
  EXPECT_EQ(train(trainer, 6, 3), first);
  TorchTrainer second(*model, train_target(), other);
  second.prepare(6);
  EXPECT_NE(train(second, 6, 3), first);
}

TEST(TorchTrainer, MemoryIsToldByKind) {
  const auto model = small_network({});
  TorchTrainer trainer(*model, train_target(), {.optimizer = Optimizer::adam});
  trainer.prepare(6);
  const MemoryKinds kinds = trainer.memory_kinds(6, pictures(6));
  const int64_t trained = (18 + 2 + 2 + 96) * 4;
  EXPECT_EQ(kinds.at("gradients"), trained);
  EXPECT_EQ(kinds.at("weights"), trained + 16) << "and two statistics of two channels";
  EXPECT_EQ(kinds.at("optimizer_state"), 2 * trained + 4 * 4);
  EXPECT_GE(kinds.at("activations"), 6 * 32 * 4 * 2) << "what the convolution made, and its normalised form";
}

// The CPU's memory, until it ends.
class EndingMemory final : public c10::Allocator {
 public:
  EndingMemory() : whole_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, 100); }
  ~EndingMemory() override { c10::SetCPUAllocator(whole_, 100); }
  EndingMemory(const EndingMemory&) = delete;
  EndingMemory& operator=(const EndingMemory&) = delete;
  c10::DataPtr allocate(size_t bytes) override {
    TORCH_CHECK(!ended, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes, " bytes");
    return whole_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return whole_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
  bool ended = false;

 private:
  c10::Allocator* whole_;
};

TEST(TorchTrainer, MemoryThatEndsInTheBackwardPassLeavesNothingBehind) {
  at::set_num_threads(1);
  EndingMemory memory;
  const auto model = small_network({.norm = false});
  TorchTrainer trainer(*model, train_target(), {.learning_rate = 0.1}), other(*model, train_target(), {.learning_rate = 0.1});
  trainer.prepare(6), other.prepare(6);
  train(trainer, 6, 1), train(other, 6, 1);
  const auto inputs = pictures(6);
  try {
    trainer.step(6, inputs, [&](TrainPart part) { memory.ended = part == TrainPart::forward; });
    FAIL() << "the backward pass needs memory";
  } catch (const std::exception& failure) {
    memory.ended = false;
    EXPECT_EQ(torch_error(failure, "training").kind(), ErrorKind::out_of_memory) << failure.what();
  }
  EXPECT_EQ(train(trainer, 6, 3), train(other, 6, 3)) << "no gradient of the step that failed is left";
}

std::string refusal(const Model& model, const TrainSettings& settings, int64_t batch) {
  try {
    train_ports("libtorch", model.graph(), settings);
    TorchTrainer(model, train_target(), settings).prepare(batch);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    return error.what();
  }
  return "accepted";
}

TEST(TorchTrainer, WhatCannotBeTrainedIsNamed) {
  Chain without({{1, batch_symbol}, {3, ""}});
  EXPECT_THAT(refusal(*without.node("Relu").model(), {}, 1), HasSubstr("chain has no weights"));
  EXPECT_THAT(refusal(*small_network({}), {.accumulation = 4}, 6), HasSubstr("6 cannot be cut into 4"));
  Chain deep({{1, batch_symbol}, {2, ""}, {3, ""}});
  EXPECT_THAT(refusal(*deep.node("MatMul", {deep.constant("w", floats({3, 2}, {1, 2, 3, 4, 5, 6}))}).model(), {}, 1),
              HasSubstr("cross-entropy is of scores [N, classes]"));
  Chain single({{1, batch_symbol}, {1, ""}, {1, ""}, {1, ""}});
  single.node("BatchNormalization", {single.constant("s", floats({1}, {1})), single.constant("b", floats({1}, {0})),
                                     single.constant("m", floats({1}, {0})), single.constant("v", floats({1}, {1}))});
  EXPECT_THAT(refusal(*single.node("Flatten").model(), {}, 1), HasSubstr("BatchNormalization (node 'BatchNormalization'): training takes"));
}

}  // namespace
}  // namespace deepgap
