#include "engine/plan/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace deepgap {
namespace {

TEST(MemoryPlan, NothingNeedsNothing) {
  EXPECT_EQ(plan_memory({}).bytes, 0U);
  EXPECT_EQ(max_live_bytes({}), 0U);
}

TEST(MemoryPlan, ChainOfEqualBuffersTakesTwo) {
  const std::vector<Lifetime> chain{{640, 0, 1}, {640, 1, 2}, {640, 2, 3}, {640, 3, 4}};
  EXPECT_EQ(plan_memory(chain).bytes, 1280U);
}

TEST(MemoryPlan, SmallBufferGoesIntoTheTightestGap) {
  // Steps 0..2 hold 256, 128 and 64 bytes for ever; freed room of 128 and of 64 lies between: the 64-byte buffer takes the smaller one.
  const std::vector<Lifetime> lifetimes{{512, 0, 9}, {320, 0, 4}, {192, 0, 9}, {128, 5, 9}, {64, 5, 9}};
  const auto plan = plan_memory(lifetimes);
  EXPECT_EQ(plan.bytes, 1024U);
  EXPECT_GE(plan.offsets[3], 512U);
  EXPECT_GE(plan.offsets[4], 512U);
}

TEST(MemoryPlan, RandomProgramsNeverOverlapAndStayWithinBounds) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<Lifetime> lifetimes(random() % 60);
    for (auto& lifetime : lifetimes) {
      lifetime.bytes = random() % 5000;
      lifetime.first = random() % 40;
      lifetime.last = lifetime.first + random() % 10;
    }
    const auto plan = plan_memory(lifetimes);
    size_t sum = 0;
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      sum += (lifetimes[i].bytes + cache_line - 1) / cache_line * cache_line;
      EXPECT_EQ(plan.offsets[i] % cache_line, 0U);
      EXPECT_LE(plan.offsets[i] + lifetimes[i].bytes, plan.bytes);
      for (size_t j = 0; j < i; ++j) {
        const bool same_time = lifetimes[i].first <= lifetimes[j].last && lifetimes[j].first <= lifetimes[i].last;
        const bool same_place =
            plan.offsets[i] < plan.offsets[j] + lifetimes[j].bytes && plan.offsets[j] < plan.offsets[i] + lifetimes[i].bytes;
        EXPECT_FALSE(same_time && same_place) << "seed " << seed << ", buffers " << i << " and " << j;
      }
    }
    EXPECT_LE(plan.bytes, sum) << "seed " << seed;
    EXPECT_GE(plan.bytes, max_live_bytes(lifetimes)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace deepgap
