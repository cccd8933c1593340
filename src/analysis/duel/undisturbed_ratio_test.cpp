#include "analysis/duel/undisturbed_ratio.h"

#include "analysis/metric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000, slice = 100 * ms;

// An arm that has every other slice of 100 ms on a machine of two CPUs, for ten seconds, one query after the other. In the slices between,
// the other arm uses as much CPU time.
Record arm_of(bool is_first, Nanoseconds query) {
  Record record;
  Series delay{"slices", "run_delay", "s", true, {}, {}};
  std::vector<Series> proc;
  for (const char* name : {"cpu_time", "machine_busy", "machine_idle"}) proc.push_back({"proc", name, "s", true, {}, {}});
  double own_s = 0;
  for (int64_t turn = 0; turn <= 100; ++turn) {
    const Nanoseconds begin = turn * slice;
    const double now_s = static_cast<double>(begin) / 1e9;
    for (Nanoseconds t = begin; t < begin + slice; t += 20 * ms) delay.times.push_back(t), delay.values.push_back(0);
    for (size_t i = 0; i < proc.size(); ++i) {
      proc[i].times.push_back(begin);
      proc[i].values.push_back(i == 0 ? own_s : now_s);
    }
    if ((turn % 2 == 0) != is_first) continue;
    own_s += 0.1;
    for (Nanoseconds t = begin; t + query <= begin + slice; t += query)
      record.timings.push_back({record.timings.size(), t, t, t + query, 1, Status::ok});
  }
  record.windows = {{"turns", record.timings.front().begin, record.timings.back().end}};
  record.series = std::move(proc);
  record.series.push_back(std::move(delay));
  return record;
}

TEST(UndisturbedRatio, TheOtherArmsSlicesAreNoDisturbanceOfItsOwn) {
  const Record first = arm_of(true, 5 * ms), other = arm_of(false, 4 * ms);
  EXPECT_NEAR(find_metric("undisturbed_share")->compute(first)->value, 1, 0.02);
  EXPECT_NEAR(find_metric("throughput_undisturbed")->compute(first)->value, 200, 1e-6);
  const auto ratio = undisturbed_ratio(first, other, 0.95);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->value, 1.25, 1e-6);
}

// Somebody takes half of one CPU for two fifths of the time: queries take twice as long there, and threads wait.
TEST(UndisturbedRatio, DisturbedSlicesOfOneArmDoNotCount) {
  const Record first = arm_of(true, 5 * ms);
  Record other = arm_of(false, 5 * ms);
  const auto is_disturbed = [](Nanoseconds time) { return time / (10 * slice) % 5 < 2; };
  double waited_s = 0;
  for (size_t i = 0; i < other.series[3].times.size(); ++i) {
    waited_s += is_disturbed(other.series[3].times[i]) ? 0.01 : 0;
    other.series[3].values[i] = waited_s;
  }
  for (Timing& timing : other.timings)
    if (is_disturbed(timing.begin)) timing.end = timing.begin + 10 * ms;
  std::erase_if(other.timings, [&](const Timing& timing) { return is_disturbed(timing.begin) && timing.begin / (5 * ms) % 2 == 1; });
  const auto ratio = undisturbed_ratio(first, other, 0.95);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->value, 1, 0.01) << "of all slices it is 0.8";
  EXPECT_LT(find_metric("undisturbed_share")->compute(other)->value, 0.7);
}

TEST(UndisturbedRatio, ThereIsNoneWithoutBothEstimates) {
  const Record first = arm_of(true, 5 * ms);
  Record other = arm_of(false, 5 * ms);
  for (size_t i = 0; i < other.series[3].times.size(); ++i) other.series[3].values[i] = 0.01 * static_cast<double>(i);
  EXPECT_FALSE(undisturbed_ratio(first, other, 0.95));
  EXPECT_FALSE(undisturbed_ratio(other, first, 0.95));
}

TEST(UndisturbedRatio, InWords) {
  EXPECT_EQ(undisturbed_words({1.07, 1.02, 1.13, 40}), "undisturbed 1.07x (1.02 to 1.13)");
  EXPECT_EQ(undisturbed_words({1.07, {}, {}, 40}), "undisturbed 1.07x");
}

}  // namespace
}  // namespace deepgap
