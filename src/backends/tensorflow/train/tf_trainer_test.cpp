#include "backends/tensorflow/train/tf_trainer.h"

#include "base/test_error.h"
#include "model/trained_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

using testing::HasSubstr;
using testing::Pointwise;

class TfTrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      TfLibrary::instance();
    } catch (const Error& missing) {
      GTEST_SKIP() << missing.what();
    }
  }
};

// y = w x with w = 1
std::shared_ptr<const Model> one_weight() {
  Chain chain({{1, batch_symbol}, {1, ""}});
  return chain.node("MatMul", {chain.constant("w", floats({1, 1}, {1}))}).model();
}

TfTensor of_floats(const Shape& shape, const std::vector<float>& values) { return tf_shared(floats(shape, values)); }

double loss_of(const std::vector<TfTensor>& results) { return *static_cast<const float*>(tf().tensor_data(results.at(0).get())); }

struct Trained {
  std::shared_ptr<const Model> model;
  TfTrainer trainer;
  explicit Trained(const TrainSettings& settings, std::shared_ptr<const Model> given = one_weight(), int64_t batch = 1)
      : model(std::move(given)), trainer(*model, {}, settings) {
    trainer.prepare(batch);
  }
  // Losses of steps with x = 2 and target 0: the loss is 4 w^2, its gradient 8 w.
  std::vector<double> steps(int count) {
    std::vector<double> losses;
    for (int i = 0; i < count; ++i) {
      std::vector<TfTensor> inputs;
      inputs.push_back(of_floats({1, 1}, {2}));
      inputs.push_back(of_floats({1, 1}, {0}));
      losses.push_back(loss_of(trainer.run(1, inputs)));
    }
    return losses;
  }
  std::vector<float> weight(const std::string& name = "w") {
    const Tensor copy = trainer.trained_weights().at(name);
    return {copy.as<float>().begin(), copy.as<float>().end()};
  }
};

TEST_F(TfTrainerTest, PlainDescentByHand) {
  Trained sgd({.optimizer = Optimizer::sgd, .loss = Loss::mse, .learning_rate = 0.1});
  EXPECT_THAT(sgd.steps(2), Pointwise(testing::DoubleNear(1e-5), {4.0, 4 * 0.2 * 0.2}));  // w: 1, 0.2
  EXPECT_NEAR(sgd.weight()[0], 0.2 - 0.1 * 8 * 0.2, 1e-6);
}

TEST_F(TfTrainerTest, MomentumAndWeightDecayByHand) {
  Trained t({.optimizer = Optimizer::momentum, .loss = Loss::mse, .learning_rate = 0.01, .momentum = 0.5, .weight_decay = 1});
  t.steps(2);
  const double first = 1 - 0.01 * (8 + 1), velocity = 0.5 * 9 + 9 * first;
  EXPECT_NEAR(t.weight()[0], first - 0.01 * velocity, 1e-6);
}

// PyTorch's form, by hand: m and v are corrected for their beginning at zero, and epsilon stands beside the corrected root.
TEST_F(TfTrainerTest, AdamByHand) {
  for (const double decay : {0.0, 0.4}) {
    Trained t({.optimizer = Optimizer::adamw, .loss = Loss::mse, .learning_rate = 0.25, .weight_decay = decay});
    double w = 1, m = 0, v = 0;
    for (int step = 1; step <= 3; ++step) {
      const double g = 8 * w;
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      w = w - 0.25 * decay * w - 0.25 * (m / (1 - std::pow(0.9, step))) / (std::sqrt(v / (1 - std::pow(0.999, step))) + 1e-8);
    }
    t.steps(3);
    EXPECT_NEAR(t.weight()[0], w, 1e-4) << decay;
  }
}

TEST_F(TfTrainerTest, ResetGivesTheSameLosses) {
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adamw}) {
    Trained t({.optimizer = optimizer, .loss = Loss::mse, .learning_rate = 0.01});
    const std::vector<double> first = t.steps(4);
    t.trainer.reset();
    EXPECT_EQ(t.weight()[0], 1);
    EXPECT_EQ(t.steps(4), first);
    EXPECT_LT(first.back(), first.front());
  }
}

TEST_F(TfTrainerTest, ANetworkLearnsItsBatchAndMovesItsStatistics) {
  Trained t({.learning_rate = 0.1}, small_network({}), 6);
  Tensor images = make_tensor(DataType::f32, {6, 1, 4, 4}), classes = make_tensor(DataType::i64, {6});
  for (size_t i = 0; i < 96; ++i) writable<float>(images)[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < 6; ++i) writable<int64_t>(classes)[i] = static_cast<int64_t>(i % 3);
  EXPECT_FLOAT_EQ(t.weight("kernel")[1], std::sin(1.0F)) << "in the Graph's order, not in TensorFlow's";
  std::vector<double> losses;
  for (int i = 0; i < 30; ++i) {
    std::vector<TfTensor> inputs;
    inputs.push_back(tf_shared(images));
    inputs.push_back(tf_shared(classes));
    losses.push_back(loss_of(t.trainer.run(6, inputs)));
  }
  EXPECT_NEAR(losses.front(), std::log(3.0), 0.7) << "of scores, not of their Softmax";
  EXPECT_LT(losses.back(), 0.1);
  EXPECT_EQ(t.trainer.trained_weights().size(), 6u);
  EXPECT_NE(t.weight("mean")[0], 0);
  EXPECT_NE(t.weight("variance")[0], 1);
}

// A small step of plain descent lowers the loss by the step's length times the gradient's square, whatever the operators.
void expect_descent(const std::vector<int64_t>& pads, int64_t stride, int64_t dilation, int64_t group) {
  Chain chain({{1, batch_symbol}, {4, ""}, {9, ""}, {9, ""}});
  std::vector<float> kernel(static_cast<size_t>(4 * 4 / group * 9));
  for (size_t i = 0; i < kernel.size(); ++i) kernel[i] = std::sin(static_cast<float>(i + 1)) / 4;
  chain.node("Conv", {chain.constant("kernel", floats({4, 4 / group, 3, 3}, kernel))},
             {{"pads", pads},
              {"strides", std::vector<int64_t>{stride, stride}},
              {"dilations", std::vector<int64_t>{dilation, dilation}},
              {"group", group}});
  chain.node("Tanh").node("MaxPool", {}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}).node("GlobalAveragePool").node("Flatten");
  const double rate = 1e-3;
  Trained t({.optimizer = Optimizer::sgd, .loss = Loss::mse, .learning_rate = rate}, chain.model(), 2);
  std::vector<float> image(2 * 4 * 81);
  for (size_t i = 0; i < image.size(); ++i) image[i] = std::cos(static_cast<float>(i));
  std::vector<double> losses;
  for (int i = 0; i < 2; ++i) {
    std::vector<TfTensor> inputs;
    inputs.push_back(of_floats({2, 4, 9, 9}, image));
    inputs.push_back(of_floats({2, 4, 1, 1}, std::vector<float>(8, 1)));
    losses.push_back(loss_of(t.trainer.run(2, inputs)));
    if (i > 0) break;
    const std::vector<float> moved = t.weight("kernel");
    double square = 0;
    for (size_t k = 0; k < moved.size(); ++k) square += std::pow((kernel[k] - moved[k]) / rate, 2);
    losses.push_back(losses[0] - rate * square);
  }
  EXPECT_LT(losses[1], losses[0]);
  EXPECT_NEAR(losses[2], losses[1], 0.05 * (losses[0] - losses[1])) << stride << ' ' << dilation << ' ' << group;
}

TEST_F(TfTrainerTest, GradientsOfConvolutionsLeadDownhill) {
  expect_descent({1, 1, 1, 1}, 1, 1, 1);
  expect_descent({1, 1, 1, 1}, 2, 1, 1);
  expect_descent({0, 0, 0, 0}, 2, 1, 1);
  expect_descent({2, 1, 0, 3}, 1, 1, 1);
  expect_descent({2, 2, 2, 2}, 1, 2, 1);
  expect_descent({1, 1, 1, 1}, 1, 1, 4);
  expect_descent({1, 1, 1, 1}, 1, 1, 2);
}

TEST_F(TfTrainerTest, OperatorsWithoutGradientAndDropoutAreNamed) {
  const auto with_dropout = small_network({.dropout = true});
  EXPECT_THAT(error_of([&] { Trained({}, with_dropout, 2); }, ErrorKind::refused), HasSubstr("Dropout"));
  Chain chain({{1, batch_symbol}, {2, ""}});
  const auto model = chain.node("MatMul", {chain.constant("w", floats({2, 2}, {1, 2, 3, 4}))}).node("Round").model();
  EXPECT_THAT(error_of([&] { Trained({.loss = Loss::mse}, model, 2); }, ErrorKind::refused),
              HasSubstr("the library's C interface has no gradient of Rint (node 'Round'), so chain does not train"));
}

TEST_F(TfTrainerTest, MemoryIsToldByKind) {
  Trained t({.optimizer = Optimizer::adam}, small_network({}), 6);
  const MemoryKinds kinds = t.trainer.memory_kinds();
  const int64_t trained = (18 + 2 + 2 + 96) * 4;
  EXPECT_EQ(kinds.at("gradients"), trained);
  EXPECT_EQ(kinds.at("weights"), trained + 16) << "and two statistics of two channels";
  EXPECT_EQ(kinds.at("optimizer_state"), 2 * trained + 2 * 4) << "and the powers of two rates";
}

}  // namespace
}  // namespace deepgap
