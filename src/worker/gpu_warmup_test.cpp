#include "worker/gpu_warmup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;

// Steady queries of 10 ms until the warm-up is over; `state`: of the GPU at a time. Returns how long it took.
Nanoseconds length_of_warmup(PowerAsked asked, const StoppingSettings& settings, const std::function<GpuReading(Nanoseconds)>& state) {
  Nanoseconds now = 0;
  const auto rule = make_gpu_warmup(settings, asked, 1, {[&] { return state(now); }});
  while (rule->state() == Stopping::State::more && now < 60'000 * ms) {
    const Timing timing{0, now, now, now + 10 * ms, 1, Status::ok};
    now += 10 * ms;
    rule->add(std::span(&timing, 1));
  }
  return now;
}

GpuReading steady_clock(Nanoseconds /*now*/) { return {.sm_hz = 1.9e9, .power_w = 400, .power_limit_w = 700}; }
// Comes to its limit after two seconds, and its clock falls for another second.
GpuReading late_limit(Nanoseconds now) {
  const double seconds = static_cast<double>(now) / 1e9, fall = std::clamp(seconds - 2, 0.0, 1.0);
  return {.sm_hz = 1.9e9 - 0.4e9 * fall, .power_w = seconds < 2 ? 500.0 : 699.0, .power_limit_w = 700};
}

TEST(GpuWarmup, SustainedWaitsForTheLimitThoughClocksAreSteadyBefore) {
  EXPECT_LT(length_of_warmup(PowerAsked::either, {}, late_limit), 2000 * ms);
  const Nanoseconds sustained = length_of_warmup(PowerAsked::sustained, {}, late_limit);
  EXPECT_GE(sustained, 9200 * ms) << "eight seconds at the limit stand before the window";
  EXPECT_LE(sustained, 10'000 * ms);
  EXPECT_EQ(length_of_warmup(PowerAsked::sustained, {}, steady_clock), 3000 * ms) << "below the limit it waits for one to come";
}

TEST(GpuWarmup, OfTheTimingsTheLastEightSecondsStay) {
  std::vector<Timing> timings;
  for (Nanoseconds now = 0; now < 10'000 * ms; now += 10 * ms) timings.push_back({timings.size(), now, now, now + 10 * ms, 1, Status::ok});
  const std::vector<Timing> kept = at_the_limit(timings);
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.back().end, 10'000 * ms);
  EXPECT_GE(kept.back().end - kept.front().end, 8000 * ms);
  EXPECT_LT(kept.size(), timings.size());
  EXPECT_TRUE(at_the_limit({}).empty());
}

TEST(GpuWarmup, AfterARestAFewQueriesAreEnough) {
  EXPECT_EQ(length_of_warmup(PowerAsked::burst, settings_after_rest(), late_limit), 30 * ms);
}

TEST(GpuWarmup, ABurstDoesNotWaitForClocks) {
  EXPECT_LT(length_of_warmup(PowerAsked::burst, {}, late_limit), length_of_warmup(PowerAsked::either, {}, late_limit));
}

TEST(GpuWarmup, ANumberOfQueriesIsThatNumber) {
  StoppingSettings settings;
  settings.warmup = 5;
  for (const PowerAsked asked : {PowerAsked::either, PowerAsked::burst, PowerAsked::sustained})
    EXPECT_EQ(length_of_warmup(asked, settings, late_limit), 50 * ms);
}

}  // namespace
}  // namespace deepgap
