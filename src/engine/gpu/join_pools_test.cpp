#include "engine/gpu/join_pools.h"

#include "engine/gpu/test_kernels.h"

namespace deepgap::gpu {
namespace {

const Chip h100{90, 132, 227 << 10};

// An input (buffer 0), a first convolution (makes 1), a max-pool (makes 2), and what reads the pool's result (makes 3).
GpuPlan plan_with_pool() {
  Convolution problem = test_convolution(ComputeType::f16, {.size = 224, .in = 3, .out = 64, .kernel = 7, .stride = 2});
  problem.in_pitch = 4;
  problem.epilogue.steps = {EpilogueStep::clamped(0, INFINITY)};
  GpuPlan plan;
  plan.buffers.resize(4);
  plan.buffers[0].kind = Buffer::Kind::input;
  plan.buffers[3].kind = Buffer::Kind::output;
  Step convolution{.name = "conv", .op = "Conv", .launches = {}, .roles = {0, -1, -1, -1, 1, -1}, .reads = {0}, .writes = {1}};
  convolution.choice = Choice{.problem = problem, .weights = {}, .scale_bias = std::vector<float>(128, 1.0F)};
  Step pool{.name = "pool", .op = "MaxPool", .launches = {}, .roles = {1, 2}, .reads = {1}, .writes = {2}};
  pool.pool = MaxPool{1, 1, 56, 56};
  plan.steps = {convolution, pool, {.name = "next", .op = "Conv", .launches = {}, .roles = {2, 3}, .reads = {2}, .writes = {3}}};
  return plan;
}

TEST(JoinPools, MakesOneStepOfAFirstConvolutionAndItsPool) {
  GpuPlan plan = plan_with_pool();
  join_pools(plan, h100);
  ASSERT_EQ(plan.steps.size(), 2U);
  const Step& both = plan.steps[0];
  EXPECT_EQ(both.name, "conv+pool");
  EXPECT_EQ(both.roles[role_target], 2);
  EXPECT_EQ(both.writes, std::vector<BufferId>{2});
  ASSERT_TRUE(both.choice->problem.pool);
  EXPECT_EQ(both.choice->problem.pool->out_h, 56);
}

TEST(JoinPools, LeavesAResultThatOthersReadToo) {
  GpuPlan plan = plan_with_pool();
  plan.steps[2].reads.push_back(1);
  join_pools(plan, h100);
  EXPECT_EQ(plan.steps.size(), 3U);
  plan = plan_with_pool();
  plan.buffers[1].kind = Buffer::Kind::output;
  join_pools(plan, h100);
  EXPECT_EQ(plan.steps.size(), 3U);
}

TEST(JoinPools, LeavesOtherChipsAndNegativeScales) {
  GpuPlan plan = plan_with_pool();
  join_pools(plan, {80, 108, 163 << 10});
  EXPECT_EQ(plan.steps.size(), 3U);
  plan.steps[0].choice->scale_bias[5] = -1;
  join_pools(plan, h100);
  EXPECT_EQ(plan.steps.size(), 3U);
}

}  // namespace
}  // namespace deepgap::gpu
