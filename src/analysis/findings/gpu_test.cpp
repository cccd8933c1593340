// Findings on what a GPU did beside its throughput: waiting, limits, memory and energy.
#include "analysis/finding_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Findings, a_gpu_that_waits_for_its_host) {
  ResultsCollector collector;
  add(collector, {.batch = 1, .throughputs = {100}, .device = "cuda", .metrics = {{"device_idle_share", 0.43}, {"host_bound", 1}}});
  add(collector, {.batch = 64, .throughputs = {900}, .device = "cuda", .metrics = {{"device_idle_share", 0.02}, {"host_bound", 0}}});
  const auto said = find("host_bound", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].headline, "resnet50: the GPU waits for the host in 1 of 2 points");
  EXPECT_THAT(said[0].detail, HasSubstr("43"));
  EXPECT_THAT(said[0].points, SizeIs(1));
}

TEST(Findings, throttling_has_its_share_of_the_time) {
  ResultsCollector collector;
  add(collector,
      {.batch = 1, .throughputs = {1}, .device = "cuda", .metrics = {{"throttled_power_share", 0}, {"throttled_thermal_share", 0}}});
  EXPECT_TRUE(find("throttling", collector).empty());
  add(collector, {.batch = 256,
                  .throughputs = {1},
                  .device = "cuda",
                  .metrics = {{"throttled_power_share", 0.87}, {"throttled_thermal_share", 0}, {"power_w", 698}, {"gpu_clock_mhz", 1545}}});
  const auto said = find("throttling", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].headline, "1 point held back by the GPU's power limit");
  EXPECT_THAT(said[0].detail, HasSubstr("87"));
  EXPECT_THAT(said[0].detail, HasSubstr("at 698 W and 1545 MHz"));
}

TEST(Findings, precision_in_memory_and_energy_at_the_same_batch) {
  ResultsCollector collector;
  add(collector, {.batch = 8, .throughputs = {100}, .metrics = {{"device_memory_mib", 1000}, {"power_w", 600}}});
  add(collector, {.batch = 16, .throughputs = {110}, .metrics = {{"device_memory_mib", 2000}}});
  add(collector,
      {.batch = 8, .throughputs = {300}, .precision = Precision::fp16, .metrics = {{"device_memory_mib", 520}, {"power_w", 630}}});
  const auto said = find("precision_resources", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("fp16 takes 0.52 times the memory and 1.05 times the power of fp32"));
  EXPECT_THAT(said[0].detail, HasSubstr("batch 8"));
}

TEST(Findings, most_items_a_joule) {
  ResultsCollector collector;
  add(collector, {.batch = 1, .throughputs = {100}, .metrics = {{"items_per_s_per_w", 0.4}}});
  add(collector, {.batch = 32, .throughputs = {800, 800, 800}, .metrics = {{"items_per_s_per_w", 2.5}}});
  add(collector, {.batch = 64, .throughputs = {900, 900, 900}, .metrics = {{"items_per_s_per_w", 2.0}}});
  const auto said = find("per_watt", collector);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].headline, HasSubstr("2.50 items/s per watt with native at batch 32"));
  EXPECT_THAT(said[0].detail, HasSubstr("1.25x"));
  EXPECT_THAT(said[0].points, SizeIs(2));
}

TEST(Findings, counter_and_sampled_power_are_compared_over_long_windows) {
  const auto said = [](double sampled, double length) {
    ResultsCollector collector;
    add(collector,
        {.throughputs = {100}, .metrics = {{"energy_j_per_item", 2.0}, {"energy_sampled_j_per_item", sampled}, {"steady_s", length}}});
    return find("energy_agreement", collector);
  };
  EXPECT_TRUE(said(2.5, 10).empty()) << "too short to say";
  EXPECT_EQ(said(2.02, 40).at(0).tone, Tone::note);
  EXPECT_EQ(said(1.9, 40).at(0).tone, Tone::warning);
  EXPECT_THAT(said(1.9, 40).at(0).detail, HasSubstr(": sampled power shows 5 % less than the counter"));
}

TEST(Findings, a_gpu_shared_with_others_is_warned_of) {
  ResultsCollector collector;
  add(collector, {.throughputs = {1}, .device = "cuda", .metrics = {{"gpu_other_processes", 1}}});
  EXPECT_EQ(find("gpu_processes", collector).at(0).headline, "1 point measured while other processes were on the GPU");
}

}  // namespace
}  // namespace deepgap
