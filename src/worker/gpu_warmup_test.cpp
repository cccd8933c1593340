#include "worker/gpu_warmup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>

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
  EXPECT_GT(sustained, 3500 * ms) << "its clocks must be steady at the limit";
  EXPECT_LT(sustained, 6000 * ms);
  EXPECT_EQ(length_of_warmup(PowerAsked::sustained, {}, steady_clock), 3000 * ms) << "below the limit it waits for one to come";
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
