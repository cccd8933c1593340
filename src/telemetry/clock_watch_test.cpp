#include "telemetry/clock_watch.h"

#include "base/throttle.h"

#include <gtest/gtest.h>

#include <functional>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;

// Asks every 10 ms, as queries end, and returns the time at which the clocks had settled; `state`: of the GPU at a time.
Nanoseconds settled_at(const std::function<GpuReading(Nanoseconds)>& state, Nanoseconds give_up = 20'000 * ms) {
  Nanoseconds now = 0;
  ClockWatch watch({[&] { return state(now); }});
  for (; now < give_up; now += 10 * ms)
    if (watch.settled(now)) return now;
  return give_up;
}

GpuReading below_limit(double hz) { return {.sm_hz = hz, .power_w = 400, .power_limit_w = 700}; }
GpuReading at_limit(double hz) { return {.sm_hz = hz, .power_w = 690, .power_limit_w = 700}; }

TEST(ClockWatch, SixEqualReadingsSettleAGpuBelowItsPowerLimit) {
  EXPECT_EQ(settled_at([](Nanoseconds) { return below_limit(1.98e9); }), 500 * ms);
}

TEST(ClockWatch, WaitsForAClockThatComesUp) {
  EXPECT_EQ(settled_at([](Nanoseconds now) { return below_limit(now < 500 * ms ? 345e6 : 1.98e9); }), 1'000 * ms);
}

// From 1980 MHz the clock falls to 1500 within two seconds and then alternates.
TEST(ClockWatch, AtThePowerLimitItWaitsUntilTheFallIsOver) {
  const auto state = [](Nanoseconds now) {
    const double seconds = static_cast<double>(now) / 1e9, wave = now / (100 * ms) % 2 == 0 ? 30e6 : -30e6;
    return at_limit(seconds < 2 ? 1.98e9 - 0.24e9 * seconds : 1.5e9 + wave);
  };
  const Nanoseconds at = settled_at(state);
  EXPECT_GE(at, 3'000 * ms);
  EXPECT_LE(at, 4'200 * ms);
}

TEST(ClockWatch, AClockThatFallsOnAndOnNeverSettles) {
  EXPECT_EQ(settled_at([](Nanoseconds now) { return at_limit(1.98e9 * (1 - static_cast<double>(now) / 60e9)); }, 10'000 * ms), 10'000 * ms);
}

TEST(ClockWatch, TheDriverSaysThatPowerSlowsItDown) {
  ClockWatch watch(
      {[] { return GpuReading{.sm_hz = 1.5e9, .power_w = 300, .power_limit_w = 700, .throttle_reasons = throttled_by_power}; }});
  for (Nanoseconds now = 0; now < 1'900 * ms; now += 100 * ms) EXPECT_FALSE(watch.settled(now)) << now;
  EXPECT_TRUE(watch.settled(1'900 * ms));
  EXPECT_TRUE(watch.at_power_limit());
}

TEST(ClockWatch, AllGpusMustHaveSettled) {
  double second_hz = 1e9;
  ClockWatch watch({[] { return below_limit(1.98e9); }, [&] { return below_limit(second_hz *= 1.02); }});
  for (Nanoseconds now = 0; now < 2'000 * ms; now += 100 * ms) EXPECT_FALSE(watch.settled(now));
}

TEST(ClockWatch, NobodyIsWaitedForWhereNoClockIsKnown) {
  EXPECT_TRUE(ClockWatch({}).settled(0));
  EXPECT_EQ(settled_at([](Nanoseconds) { return GpuReading{}; }), 0);
  EXPECT_FALSE(ClockWatch({}).at_power_limit());
}

}  // namespace
}  // namespace deepgap
