// Every operator of the conformance suite, lowered for a GPU and computed by the emulator, against the reference interpreter.
#include "trial.h"

#include "../conformance/operator_cases.h"
#include "../conformance/quantizing.h"
#include "../conformance/tolerance.h"

#include "model/weights/seeded.h"
#include "model/zoo/zoo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;

// All of them when long tests are asked for, else every tenth: the host's compiler takes a second for some twenty. DEEPGAP_EMULATE=WORD:
// those whose name has the word, each drawn several times.
std::vector<OperatorCase> chosen_cases(const std::vector<OperatorCase>& cases) {
  const char* word = std::getenv("DEEPGAP_EMULATE");
  if (word == nullptr) return every(10, cases);
  std::vector<OperatorCase> chosen;
  for (const OperatorCase& one : cases)
    if (one.op.find(word) != std::string::npos) chosen.push_back(one);
  return chosen;
}

uint64_t draws() { return std::getenv("DEEPGAP_EMULATE") != nullptr ? 4 : 1; }

// `share`: of the cases, that must not be refused.
void try_all(const GpuNumbers& numbers, const std::string& precision, double share) {
  Trial trial({numbers, Integers::as_operators}, precision);
  const auto cases = chosen_cases(operator_cases());
  for (const OperatorCase& one : cases)
    for (uint64_t draw = 0; draw < draws(); ++draw) {
      Random random(seed_of(one.op, draw));
      GraphBuilder net(random, one.opset);
      Graph graph = one.build(net);
      Samples samples = random_samples(random, graph, Trial::batch);
      trial.add(one.op, std::move(graph), std::move(samples));
    }
  trial.run(within_tolerance(precision));
  EXPECT_GE(static_cast<double>(trial.computed()), share * static_cast<double>(cases.size()));
}

TEST(EmulatedOperators, Float32) { try_all({ComputeType::f32, Element::f32}, "fp32", 0.8); }
TEST(EmulatedOperators, Float16) { try_all({ComputeType::f16, Element::f16}, "fp16", 0.8); }

TEST(EmulatedOperators, Integers) {
  Trial trial({{ComputeType::f32, Element::f32}, Integers::computed_with}, "int8");
  for (const OperatorCase& one : chosen_cases(quantizable_cases())) {
    Random random(seed_of(one.op, 0));
    GraphBuilder net(random, one.opset);
    const Graph graph = one.build(net);
    Samples samples = random_samples(random, graph, Trial::batch);
    Graph integers = quantized(graph, samples, random.one_of<std::string>({"u8", "s8"}));
    if (is_quantized(integers)) trial.add(one.op, std::move(integers), std::move(samples));
  }
  trial.run(within_tolerance("int8"));
  EXPECT_GT(trial.computed(), 0U);
}

// Six channels are eight numbers of memory a pixel and sixteen bytes: what rounds them must not read the numbers behind the last pixel.
TEST(EmulatedOperators, BytesOfFewChannelsAreMadeOfNumbersWithLessPadding) {
  Trial trial({{ComputeType::f32, Element::f32}, Integers::computed_with}, "int8");
  Random random(seed());
  GraphBuilder net(random, 13);
  const auto convolved = [&](ValueId x, int64_t from, int64_t to) {
    return net.node("Conv", {x, net.floats({to, from, 1, 1}), net.floats({to})});
  };
  const ValueId first = convolved(net.input({4, 8, 8}), 4, 6);
  Graph graph = net.finish({convolved(net.node("Mul", {first, net.node("Sigmoid", {first})}), 6, 5)});
  Samples samples = random_samples(random, graph, Trial::batch);
  graph = quantized(graph, samples, "s8");
  trial.add("gates", std::move(graph), std::move(samples));
  trial.run(within_tolerance("int8"));
  EXPECT_EQ(trial.computed(), 1U);
}

// Halves go to even before the zero point, which is odd, is added: the same bits as the evaluator's.
TEST(EmulatedOperators, HalvesGoToEvenBeforeTheZeroPointIsAdded) {
  Trial trial({{ComputeType::f32, Element::f32}, Integers::computed_with}, "int8");
  for (const auto& [type, zero] : {std::pair(DataType::u8, 127.0), std::pair(DataType::i8, -3.0), std::pair(DataType::u8, 126.0)}) {
    Random random(seed());
    GraphBuilder net(random, 13);
    const auto quantize = [&](ValueId x, float scale) {
      return net.node("QuantizeLinear", {x, net.number(DataType::f32, scale), net.number(type, zero)});
    };
    const auto through = [&](ValueId x, float scale) {
      return net.node("DequantizeLinear", {quantize(x, scale), net.number(DataType::f32, scale), net.number(type, zero)});
    };
    Tensor levels = make_tensor(DataType::i8, {8, 8, 3, 3});
    for (auto& level : writable<int8_t>(levels)) level = static_cast<int8_t>(random.between(-2, 2));
    const ValueId weights = net.node("DequantizeLinear", {net.constant(levels), net.number(DataType::f32, 0.5)});
    const ValueId x = net.stepped_input({8, 6, 6}, DataType::f32), small = through(x, 0.25F);
    const ValueId sums = net.node("Conv", {small, weights}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    const ValueId added = net.node("Add", {through(sums, 0.5F), small});
    Graph graph = net.finish({quantize(x, 0.5F), quantize(sums, 0.5F), quantize(added, 0.5F)});
    Samples samples = random_samples(random, graph, Trial::batch);
    trial.add(fmt::format("{} and {}", name_of(type), zero), std::move(graph), std::move(samples));
  }
  trial.run(within_tolerance("int8"));
  EXPECT_EQ(trial.computed(), 3U);
}

// Networks of the zoo, small: a rounding that falls otherwise goes through all layers behind it, so they are the same network, or not.
void try_networks(const LoweringSettings& settings, const std::string& precision, double least_db) {
  Trial trial(settings, precision);
  for (const char* name : {"resnet18:width=0.25,classes=10,image=32", "mobilenet_v2:width=0.25,classes=10,image=32"}) {
    ZooOptions options;
    Graph graph = find_zoo_model(name, options)->build(options);
    seed_weights(graph, seed(), "");
    Random random(seed());
    Samples samples = random_samples(random, graph, Trial::batch);
    if (settings.integers == Integers::computed_with) graph = quantized(graph, samples, "u8");
    trial.add(name, std::move(graph), std::move(samples));
  }
  trial.run(same_network(least_db));
  EXPECT_EQ(trial.computed(), 2U);
}

TEST(EmulatedNetworks, Float32) { try_networks({{ComputeType::f32, Element::f32}, Integers::as_operators}, "fp32", 80); }
TEST(EmulatedNetworks, Float16) { try_networks({{ComputeType::f16, Element::f16}, Integers::as_operators}, "fp16", 20); }
TEST(EmulatedNetworks, Integers) { try_networks({{ComputeType::f32, Element::f32}, Integers::computed_with}, "int8", 10); }

}  // namespace
}  // namespace deepgap::gpu
