// Checks that measured values are possible: no faster than the clock allows, no slower than a program that does nothing of the kind.
#include "ceilings/ceilings.h"
#include "ceilings/kernels.h"

#include <deepgap/error.h>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <map>

namespace deepgap {
namespace {

std::vector<int> one_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) return {cpu};
  return {0};
}

// Cycles a second: a chain of multiplications, each of which takes three. The fastest of many short looks.
double clock_hz() {
  double best = 0;
  for (int look = 0; look < 200; ++look) {
    constexpr int64_t multiplications = 64'000;
    uint64_t value = 3;
    const auto begin = std::chrono::steady_clock::now();
    // Many in a row: without optimization the loop around them writes and reads memory.
    for (int64_t i = 0; i < multiplications / 128; ++i) asm volatile(".rept 128\n\timul %0, %0\n\t.endr" : "+r"(value));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, 3 * multiplications / seconds);
  }
  return best;
}

// The most that any x86-64 has done so far, a cycle and core: two multiply-adds of the register's width (three instructions where
// multiplying and adding are two), or one tile instruction in 16 cycles. More means that the compiler left work out.
const std::map<std::string, double> most_flop_per_cycle{{"SSE2", 3 * 4},
                                                        {"AVX2 FMA", 2 * 8 * 2},
                                                        {"AVX-512 FMA", 2 * 16 * 2},
                                                        {"AVX-512 FP16", 2 * 32 * 2},
                                                        {"AVX-512 BF16", 2 * 32 * 2},
                                                        {"AMX BF16", 16 * 32 * 2},
                                                        {"AVX2", 2 * 32 * 2},
                                                        {"AVX-VNNI", 2 * 32 * 2},
                                                        {"AVX-512 VNNI", 2 * 64 * 2},
                                                        {"AMX INT8", 16 * 64 * 2}};

TEST(Ceilings, AreWithinWhatTheClockAllows) {
  const Ceilings ceilings = measure_ceilings({one_cpu(), 0, 8 << 20});
  const double hz = clock_hz();
  EXPECT_GT(hz, 2e8);
  ASSERT_FALSE(ceilings.compute.empty());
  for (const ComputeCeiling& compute : ceilings.compute) {
    ASSERT_TRUE(most_flop_per_cycle.contains(compute.kernel)) << compute.kernel;
    const double per_cycle = compute.flop_per_s / hz;
    fmt::print("{} {}: {:.1f} GFLOP/s, {:.1f} a cycle at {:.2f} GHz\n", compute.precision, compute.kernel, compute.flop_per_s / 1e9,
               per_cycle, hz / 1e9);
    EXPECT_LT(per_cycle, 1.5 * most_flop_per_cycle.at(compute.kernel)) << compute.kernel;  // the clock may have been slower just then
    EXPECT_GE(compute.flop_per_s, compute.median_flop_per_s);
    EXPECT_GT(compute.median_flop_per_s, 1e6);
  }
  ASSERT_FALSE(ceilings.memory.empty());
  for (const MemoryCeiling& memory : ceilings.memory) {
    EXPECT_GT(memory.read_bytes_per_s, 1e6);
    EXPECT_LT(memory.bytes_per_s() / hz, 1.5 * 4 * 64) << "two loads and a store of 64 bytes a cycle are the most";
    EXPECT_GE(memory.bytes_per_s(), memory.median_bytes_per_s);
  }
}

TEST(Ceilings, EveryKernelThatTheCpuHasRuns) {
  for (const ComputeKernel* kernel : {&portable_fp32, &avx2_fp32, &avx512_fp32, &avx512_fp16, &avx512_bf16, &amx_bf16, &avx2_int8,
                                      &avxvnni_int8, &avx512vnni_int8, &amx_int8}) {
    if (!kernel->available()) {
      fmt::print("not on this CPU: {} {}\n", kernel->precision, kernel->name);
      continue;
    }
    kernel->run(1);
    kernel->run(1000);
    EXPECT_EQ(kernel->flop(2000), 2 * kernel->flop(1000));
  }
}

TEST(Ceilings, MemoryKernelsDoWhatTheySay) {
  const MemoryKernel kernel = memory_kernel();
  alignas(64) uint64_t words[128];
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 128; ++i) sum += words[i] = i * i;
  EXPECT_EQ(kernel.read(reinterpret_cast<const std::byte*>(words), sizeof words), sum);
  alignas(64) float a[64] = {}, b[64], c[64];
  for (int i = 0; i < 64; ++i) b[i] = static_cast<float>(i), c[i] = static_cast<float>(2 * i);
  kernel.triad(a, b, c, 0.5F, sizeof a);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(a[i], static_cast<float>(2 * i));
}

TEST(Ceilings, FootprintsReachFarBeyondTheCaches) {
  const int64_t mib = 1 << 20;
  const auto footprints = footprints_for(4, 32 * mib, 1024 * mib);
  EXPECT_TRUE(std::is_sorted(footprints.begin(), footprints.end()));
  EXPECT_EQ(footprints.front(), 4 * 16 * 1024);
  EXPECT_GE(footprints.back(), 127 * mib);
  EXPECT_LE(footprints.back(), 128 * mib);
  EXPECT_LE(footprints_for(2, 480 * mib, 100 * mib).back(), 100 * mib);
  EXPECT_GE(footprints_for(1, 0, 1024 * mib).back(), 63 * mib) << "where no cache is known";
  EXPECT_FALSE(footprints_for(8, 0, 0).empty());
}

TEST(Ceilings, AreDisturbedWhereSamplesDoNotAgree) {
  Ceilings ceilings{2, {{"fp32", "AVX2 FMA", 1.5e11, 1.4e11}, {"int8", "AVX2", 3e11, 2.9e11}}, {}, 2.5};
  EXPECT_TRUE(is_undisturbed(ceilings));
  ceilings.compute[1].median_flop_per_s = 2e11;
  EXPECT_FALSE(is_undisturbed(ceilings));
}

TEST(Ceilings, SurviveJson) {
  Ceilings ceilings{2, {{"fp32", "AVX2 FMA", 1.5e11, 1e11}}, {{1024, 3e9, 2e9, 1e9}}, 2.5};
  const Ceilings back = ceilings_from_json(ceilings_to_json(ceilings));
  EXPECT_EQ(ceilings_to_json(back), ceilings_to_json(ceilings));
  EXPECT_EQ(back.compute[0].kernel, "AVX2 FMA");
  EXPECT_EQ(back.memory[0].bytes_per_s(), 3e9);
  EXPECT_THROW(ceilings_from_json({{"threads", 2}}), Error);
}

}  // namespace
}  // namespace deepgap
