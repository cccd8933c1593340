// What operators are lowered to is CUDA that NVRTC takes, and keeps its variables in registers: those whose kernels are more than an
// expression. Needs no GPU.
#include "trial.h"

#include "../conformance/operator_cases.h"

#include "cuda/compiler.h"
#include "engine/gpu/lowering.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;

// What the compiler keeps of where threads meet again after branches, which is not a variable of a loop.
constexpr int barriers = 8;

void expect_compiled(const GpuPlan& plan, const std::string& name, const Chip& chip) {
  for (const Step& step : plan.steps)
    for (const Launch& launch : step.launches) {
      SCOPED_TRACE(name + " " + step.op + " for " + chip.target());
      try {
        const auto taken = cuda::resources_of(cuda::compile(launch.source, chip.target()));
        EXPECT_LE(taken.spill_bytes, barriers) << launch.source.substr(launch.source.find("typedef"), 800);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what() << "\n" << launch.source;
      }
    }
}

TEST(OperatorKernels, Compile) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  constexpr std::array names{"LSTM",
                             "GRU",
                             "RNN",
                             "GridSample",
                             "DynamicQuantizeLinear and MatMulInteger",
                             "DynamicQuantizeLinear and ConvInteger",
                             "NonMaxSuppression",
                             "TopK opset 10"};
  std::set<std::string> left(names.begin(), names.end());
  for (const OperatorCase& one : operator_cases()) {
    if (left.erase(one.op) == 0) continue;
    Random random(seed_of(one.op, 0));
    GraphBuilder net(random, one.opset);
    const Graph graph = bound_for_trial(one.build(net), Integers::as_operators);
    expect_compiled(Lowering(graph, {ComputeType::f32, Element::f32}, Chip{}).lower(), one.op, Chip{});
    expect_compiled(Lowering(graph, {ComputeType::f16, Element::f16}, Chip{80, 108, 163 << 10}).lower(), one.op, Chip{80, 108, 163 << 10});
  }
  EXPECT_TRUE(left.empty()) << *left.begin() << " is no case";
}

TEST(OperatorKernels, TheBestFewOfManyCompile) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  Random random(1);
  GraphBuilder net(random, 17);
  const Graph graph = bound_for_trial(net.finish({net.nodes("TopK", {net.input({365480}), net.ints({10})}, 2)[0]}), Integers::as_operators);
  for (const Element stored : {Element::f32, Element::f16})
    expect_compiled(Lowering(graph, {stored == Element::f16 ? ComputeType::f16 : ComputeType::f32, stored}, Chip{}).lower(), "TopK",
                    Chip{});
}

// As in readers of text and of speech: a block has as many threads as there can be. The smaller ones with DEEPGAP_LONG_TESTS.
TEST(OperatorKernels, RecurrentLayersOfUsualSizesCompile) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const auto& [op, gates] : {std::pair<std::string, int64_t>{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}})
    for (const int64_t hidden : {96, 256, 1024})
      for (const int64_t after : {0, 1}) {
        if (op != "GRU" && after == 1) continue;
        if (hidden < 1024 && std::getenv("DEEPGAP_LONG_TESTS") == nullptr) continue;
        Random random(1);
        GraphBuilder net(random, 17);
        const ValueId x = net.node("Transpose", {net.input({20, 64})}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
        const ValueId steps =
            net.node(op, {x, net.floats({2, gates * hidden, 64}), net.floats({2, gates * hidden, hidden})},
                     {{"hidden_size", hidden}, {"direction", std::string("bidirectional")}, {"linear_before_reset", after}});
        const Graph graph = bound_for_trial(net.finish({net.node("Transpose", {steps}, {{"perm", std::vector<int64_t>{2, 0, 1, 3}}})}),
                                            Integers::as_operators);
        for (const Element stored : {Element::f32, Element::f16})
          expect_compiled(Lowering(graph, {stored == Element::f16 ? ComputeType::f16 : ComputeType::f32, stored}, Chip{}).lower(),
                          op + " of " + std::to_string(hidden), Chip{});
      }
}

TEST(OperatorKernels, RowsThatNoBlockKeepsCompile) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  Random random(1);
  GraphBuilder net(random, 21);
  const ValueId x = net.input({4, 200, 200});
  const ValueId groups = net.node("GroupNormalization", {x, net.floats({4}), net.floats({4})}, {{"num_groups", int64_t{2}}});
  const Graph graph =
      bound_for_trial(net.finish({net.node("InstanceNormalization", {x, net.floats({4}), net.floats({4})}), groups,
                                  net.node("Softmax", {net.node("Flatten", {x})}), net.node("LogSoftmax", {net.node("Flatten", {x})})}),
                      Integers::as_operators);
  expect_compiled(Lowering(graph, {ComputeType::f16, Element::f16}, Chip{}).lower(), "rows", Chip{});
}

TEST(OperatorKernels, ConcatOfWholeVectorsBringsThem) {
  Random random(1);
  GraphBuilder net(random, 17);
  const auto picture = [&](int64_t channels) { return net.node("Conv", {net.input({3, 5, 6}), net.floats({channels, 3, 1, 1})}); };
  const ValueId wide = net.node("Concat", {picture(16), picture(8), picture(5)}, {{"axis", int64_t{1}}});
  const ValueId narrow = net.node("Concat", {picture(5), picture(8)}, {{"axis", int64_t{1}}});
  const Graph graph = bound_for_trial(net.finish({net.node("Relu", {wide}), net.node("Relu", {narrow})}), Integers::as_operators);
  const GpuPlan plan = Lowering(graph, {ComputeType::f16, Element::f16}, Chip{}).lower();
  int by_vectors = 0, others = 0;
  for (const Step& step : plan.steps)
    if (step.op == "Concat") ++(step.launches.at(0).source.find("uint4") != std::string::npos ? by_vectors : others);
  EXPECT_EQ(by_vectors, 1);
  EXPECT_EQ(others, 1);
  if (cuda::has_compiler()) expect_compiled(plan, "Concat", Chip{});
}

}  // namespace
}  // namespace deepgap::gpu
