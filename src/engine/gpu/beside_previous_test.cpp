#include "engine/gpu/beside_previous.h"

#include "engine/gpu/kernel_file.h"
#include "engine/gpu/test_kernels.h"

#include <gmock/gmock.h>

#include <set>

namespace deepgap::gpu {
namespace {

using ::testing::StartsWith;

const Chip h100{90, 132, 227 << 10};
const std::string own = "let_next_begin();\nwait_for_previous();\n";

Step step(std::vector<BufferId> reads, std::vector<BufferId> writes, unsigned blocks = 32) {
  Launch launch;
  launch.source = own;
  launch.grid = {blocks, 1, 1};
  launch.overlaps_previous = true;
  return {.name = {}, .op = "Conv", .launches = {launch}, .roles = {}, .reads = std::move(reads), .writes = std::move(writes)};
}

// As a block of ResNet-18 has them: 1 to 2, the shortcut from 1 to 3, and what reads both.
GpuPlan plan_with_shortcut() {
  GpuPlan plan;
  plan.steps = {step({0}, {1}), step({1}, {2}), step({1}, {3}), step({2, 3}, {4})};
  return plan;
}

std::vector<bool> beside(const GpuPlan& plan) {
  std::vector<bool> all;
  for (const Step& step : plan.steps) all.push_back(step.beside_previous);
  return all;
}

TEST(BesidePrevious, AShortcutComputesBesideTheStepBeforeIt) {
  GpuPlan plan = plan_with_shortcut();
  for (Step& step : plan.steps) step.launches[0].shared_bytes = h100.shared_bytes * 2;  // both fill 128 of 132 multiprocessors
  let_steps_begin_beside(plan, h100);
  EXPECT_EQ(beside(plan), (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(plan.steps[0].launches[0].source, own);
  EXPECT_THAT(plan.steps[1].launches[0].source, StartsWith("#define NEXT_BEGINS_AFTER_WAIT\n"));
  EXPECT_THAT(plan.steps[2].launches[0].source, StartsWith("#define WAITS_AT_ITS_END\n"));
  EXPECT_EQ(plan.steps[3].launches[0].source, own);
}

// The second would begin before what is two steps before it has ended.
TEST(BesidePrevious, OfTwoInARowTheFirstAlone) {
  GpuPlan plan;
  plan.steps = {step({0}, {1}), step({1}, {2}), step({1}, {3}), step({1}, {4})};
  let_steps_begin_beside(plan, h100);
  EXPECT_EQ(beside(plan), (std::vector<bool>{false, false, true, false}));
}

TEST(BesidePrevious, NotWhereBuffersMeetOrBothDoNotFitTheChip) {
  const auto expect_none = [](const auto& change) {
    GpuPlan plan = plan_with_shortcut();
    change(plan.steps);
    let_steps_begin_beside(plan, h100);
    EXPECT_EQ(beside(plan), std::vector<bool>(4, false));
  };
  using Steps = std::vector<Step>;
  expect_none([](Steps& steps) { steps[2].reads.push_back(2); });
  expect_none([](Steps& steps) { steps[1].reads.push_back(3); });
  expect_none([](Steps& steps) { steps[2].writes.push_back(2); });
  expect_none([](Steps& steps) { steps[1].launches[0].grid = {66, 2048, 1}, steps[1].launches[0].block = {2, 1, 1}; });
  expect_none([](Steps& steps) { steps[1].launches[0].shared_bytes = steps[2].launches[0].shared_bytes = h100.shared_bytes * 3; });
  expect_none([](Steps& steps) { steps[1].launches[0].overlaps_previous = false; });
  expect_none([](Steps& steps) { steps[2].launches.push_back(steps[2].launches[0]); });
  expect_none([](Steps& steps) { steps[2].launches[0].source = "wait_for_previous();"; });
  expect_none([](Steps& steps) { steps[1].launches[0].source = "let_next_begin();"; });
}

// One variant of each family; words of launch_order.cuh stand in each text as the definitions expect them.
TEST(BesidePrevious, TextsCompileWithBothDefinitions) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  std::set<std::string> entries;
  for (const TestShape& shape : {TestShape{}, TestShape{.kernel = 1}, TestShape{.groups = 64}})
    for (const ConvolutionVariant& variant : convolution_variants(test_convolution(ComputeType::f16, shape), h100)) {
      const Launch& launch = variant.launches.front();
      if (!entries.insert(launch.entry + variant.name.substr(0, variant.name.find(' '))).second) continue;
      for (const char* words : {"#define WAITS_AT_ITS_END\n", "#define NEXT_BEGINS_AFTER_WAIT\n"})
        EXPECT_EQ(cuda::resources_of(cuda::compile(words + launch.source, h100.target())).spill_bytes, 0) << variant.name << words;
    }
  EXPECT_GE(entries.size(), 4u);
}

TEST(Stamp, CompilesForEveryChip) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const Chip& chip : test_chips())
    EXPECT_EQ(cuda::resources_of(cuda::compile(kernel_file("launch_order") + kernel_file("stamp"), chip.target())).spill_bytes, 0);
}

}  // namespace
}  // namespace deepgap::gpu
