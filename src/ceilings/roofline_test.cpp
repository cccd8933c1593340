#include "ceilings/roofline.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

Ceilings machine() {
  Ceilings ceilings;
  ceilings.compute = {
      {"fp32", "narrow", 50e9, 50e9}, {"fp32", "wide", 100e9, 90e9}, {"int8", "wide", 400e9, 400e9}, {"bf16", "slow", 40e9, 40e9}};
  ceilings.memory = {{1'000, 200e9, 300e9, 0}, {100'000, 80e9, 60e9, 0}, {10'000'000, 10e9, 8e9, 0}};
  return ceilings;
}

TEST(Roofline, ThePeakIsThatOfTheFastestInstruction) {
  EXPECT_EQ(peak_flop_per_s(machine(), "fp32"), 100e9);
  EXPECT_EQ(peak_flop_per_s(machine(), "int8"), 400e9);
  EXPECT_EQ(peak_of(machine(), "bf16")->precision, "fp32") << "what FP32 does faster may be done in FP32";
  EXPECT_EQ(peak_flop_per_s(machine(), "fp16"), 100e9);
  EXPECT_EQ(peak_of({}, "fp32"), nullptr);
}

TEST(Roofline, BandwidthIsThatOfTheCacheThatMayHoldTheBytes) {
  EXPECT_EQ(bandwidth_bytes_per_s(machine(), 500), 300e9);
  EXPECT_EQ(bandwidth_bytes_per_s(machine(), 1'000), 300e9);
  EXPECT_EQ(bandwidth_bytes_per_s(machine(), 99'999), 300e9);  // part of it may lie in the first
  EXPECT_EQ(bandwidth_bytes_per_s(machine(), 100'000), 80e9);
  EXPECT_EQ(bandwidth_bytes_per_s(machine(), 1e12), 10e9);
  Ceilings disturbed = machine();
  disturbed.memory[1].read_bytes_per_s = disturbed.memory[1].triad_bytes_per_s = 1e9;  // slower than memory: a sample that went wrong
  EXPECT_EQ(bandwidth_bytes_per_s(disturbed, 100'000), 10e9);
}

TEST(Roofline, TheLongerOfBothIsTheRoof) {
  const Roof computing = roof_of(machine(), {"fp32", 1e9, 1e6});
  EXPECT_EQ(computing.bound, Bound::compute);
  EXPECT_DOUBLE_EQ(computing.seconds, 0.01);
  const Roof moving = roof_of(machine(), {"fp32", 1e6, 1e8});
  EXPECT_EQ(moving.bound, Bound::memory);
  EXPECT_DOUBLE_EQ(moving.seconds, 0.01);
  EXPECT_DOUBLE_EQ(roof_of(machine(), {"int8", 4e9, 0}).seconds, 0.01);
  EXPECT_EQ(roof_of(machine(), {}).bound, Bound::none);
  EXPECT_EQ(roof_of({}, {"fp32", 1e9, 1e6}).bound, Bound::none);
}

}  // namespace
}  // namespace deepgap
