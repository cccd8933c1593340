#include "backends/libtorch/train/torch_trainer.h"

#include "backends/libtorch/train/train_ports.h"
#include "model/graph_tools.h"
#include "model/model_of.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using testing::HasSubstr;

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = make_tensor(DataType::f32, shape);
  std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
  return tensor;
}

// x [N, inputs] through nodes that each take the value before; constants by what they are called.
struct Chain {
  Graph graph;
  ValueId last = 0;

  explicit Chain(Dims input) {
    graph.opset = 17;
    graph.values = {{"x", DataType::f32, std::move(input)}};
    graph.inputs = {0};
  }
  ValueId constant(const std::string& name, const Tensor& tensor) {
    const auto id = static_cast<ValueId>(graph.values.size());
    Dims dims;
    for (const int64_t size : tensor.shape) dims.push_back({size, ""});
    graph.values.push_back({name, tensor.type, dims});
    graph.constants[id] = tensor;
    return id;
  }
  Chain& node(const std::string& op, std::vector<ValueId> more = {}, std::map<std::string, Attribute> attributes = {}) {
    const auto out = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({op + ".out", DataType::f32, std::nullopt});
    more.insert(more.begin(), last);
    graph.nodes.push_back({op, op, "", more, {out}, std::move(attributes)});
    last = out;
    return *this;
  }
  std::shared_ptr<const Model> model() {
    graph.outputs = {last};
    infer_shapes(graph);
    return model_of("chain", graph);
  }
};

// y = w x with w = 1
std::shared_ptr<const Model> one_weight() {
  Chain chain({{1, batch_symbol}, {1, ""}});
  return chain.node("MatMul", {chain.constant("w", floats({1, 1}, {1}))}).model();
}

TorchTarget on_cpu() {
  TorchTarget target;
  target.trains = true;
  return target;
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
  explicit Trained(const TrainSettings& settings) : trainer(*model, on_cpu(), settings) { trainer.prepare(1); }
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

// Conv, BatchNormalization, Relu, scores.
std::shared_ptr<const Model> small_network(bool with_dropout, bool with_norm = true) {
  Chain chain({{1, batch_symbol}, {1, ""}, {4, ""}, {4, ""}});
  std::vector<float> kernel(18), head(2 * 16 * 3);
  for (size_t i = 0; i < kernel.size(); ++i) kernel[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < head.size(); ++i) head[i] = std::cos(static_cast<float>(3 * i)) / 4;
  chain.node("Conv", {chain.constant("kernel", floats({2, 1, 3, 3}, kernel))}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  if (with_norm)
    chain.node("BatchNormalization", {chain.constant("scale", floats({2}, {1, 1})), chain.constant("shift", floats({2}, {0, 0})),
                                      chain.constant("mean", floats({2}, {0, 0})), chain.constant("variance", floats({2}, {1, 1}))});
  chain.node("Relu");
  if (with_dropout) chain.node("Dropout", {chain.constant("ratio", floats({}, {0.5F}))});
  return chain.node("Flatten").node("MatMul", {chain.constant("head", floats({32, 3}, head))}).node("Softmax").model();
}

std::vector<at::Tensor> pictures(int64_t batch) {
  return {at::sin(at::arange(0, batch * 16, at::kFloat)).reshape({batch, 1, 4, 4}), at::arange(0, batch, at::kLong).remainder(3)};
}

std::vector<double> train(TorchTrainer& trainer, int64_t batch, int count) {
  std::vector<double> losses;
  for (int i = 0; i < count; ++i) losses.push_back(trainer.step(batch, pictures(batch), [](TrainPart) {}).item<double>());
  return losses;
}

TEST(TorchTrainer, ANetworkLearnsItsBatchAndMovesItsStatistics) {
  at::set_num_threads(1);
  const auto model = small_network(false);
  const TrainSettings settings{.learning_rate = 0.1};
  for (const at::ScalarType autocast : {at::kFloat, at::kBFloat16}) {
    TorchTarget target = on_cpu();
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
  const auto model = small_network(false, false);  // statistics would be of the parts
  TrainSettings whole{.learning_rate = 0.1}, parts = whole;
  parts.accumulation = 3;
  TorchTrainer a(*model, on_cpu(), whole), b(*model, on_cpu(), parts);
  a.prepare(6), b.prepare(6);
  EXPECT_THAT(train(b, 6, 4), testing::Pointwise(testing::DoubleNear(1e-5), train(a, 6, 4)));
}

TEST(TorchTrainer, DropoutFollowsTheSeed) {
  const auto model = small_network(true);
  TrainSettings settings{.learning_rate = 0.05, .seed = 3}, other = settings;
  other.seed = 4;
  TorchTrainer trainer(*model, on_cpu(), settings);
  trainer.prepare(6);
  const auto first = train(trainer, 6, 3);
  trainer.reset();
  EXPECT_EQ(train(trainer, 6, 3), first);
  TorchTrainer second(*model, on_cpu(), other);
  second.prepare(6);
  EXPECT_NE(train(second, 6, 3), first);
}

TEST(TorchTrainer, MemoryIsToldByKind) {
  const auto model = small_network(false);
  TorchTrainer trainer(*model, on_cpu(), {.optimizer = Optimizer::adam});
  trainer.prepare(6);
  const MemoryKinds kinds = trainer.memory_kinds(6, pictures(6));
  const int64_t trained = (18 + 2 + 2 + 96) * 4;
  EXPECT_EQ(kinds.at("gradients"), trained);
  EXPECT_EQ(kinds.at("weights"), trained + 16) << "and two statistics of two channels";
  EXPECT_EQ(kinds.at("optimizer_state"), 2 * trained + 4 * 4);
  EXPECT_GE(kinds.at("activations"), 6 * 32 * 4 * 2) << "what the convolution made, and its normalised form";
}

std::string refusal(const Model& model, const TrainSettings& settings, int64_t batch) {
  try {
    train_ports(model.graph(), settings);
    TorchTrainer(model, on_cpu(), settings).prepare(batch);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    return error.what();
  }
  return "accepted";
}

TEST(TorchTrainer, WhatCannotBeTrainedIsNamed) {
  Chain without({{1, batch_symbol}, {3, ""}});
  EXPECT_THAT(refusal(*without.node("Relu").model(), {}, 1), HasSubstr("chain has no weights"));
  EXPECT_THAT(refusal(*small_network(false), {.accumulation = 4}, 6), HasSubstr("6 cannot be cut into 4"));
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
