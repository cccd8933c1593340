#include "worker/power_state.h"

#include <gtest/gtest.h>

#include <functional>

namespace deepgap {
namespace {

constexpr Nanoseconds second = 1'000'000'000;
const Window window{"steady", 10 * second, 14 * second};

using Shape = std::function<double(double seconds)>;

// Readings every 300 ms from before the window until after it; `limited`: the driver lowers the clocks because of the power limit.
std::vector<Series> gpu(const std::string& name, const std::function<bool(double)>& limited, const Shape& hz) {
  Series reasons{"nvml", "throttle_reasons." + name, "bits", false, {}, {}}, clock{"nvml", "clock_sm." + name, "Hz", false, {}, {}};
  for (Nanoseconds t = 8 * second; t < 16 * second; t += 300'000'000) {
    const double seconds = static_cast<double>(t - window.begin) / 1e9;
    reasons.times.push_back(t), clock.times.push_back(t);
    reasons.values.push_back(limited(seconds) ? 4 : 0), clock.values.push_back(hz(seconds));
  }
  return {reasons, clock};
}

bool always(double /*seconds*/) { return true; }
bool never(double /*seconds*/) { return false; }
bool after_half_a_second(double seconds) { return seconds >= 0.5; }
const Shape fast = [](double) { return 1.98e9; }, falls = [](double t) { return t < 2 ? 1.98e9 : 1.584e9; };

TEST(PowerState, AtTheLimitItIsSustainedThoughClocksSwing) {
  EXPECT_EQ(power_state(gpu("cuda0", always, [](double t) { return 1.5e9 + (t < 2 ? 1e7 : -1e7); }), window).word, "sustained");
  // As read on an H100: the clock goes from 1755 to 1935 MHz and back.
  EXPECT_EQ(power_state(gpu("cuda0", always, [](double t) { return t < 2 ? 1.9e9 : 1.8e9; }), window).word, "sustained");
}

TEST(PowerState, ClocksThatFallAfterTheLimitCameAreABurst) {
  const PowerState state = power_state(gpu("cuda0", after_half_a_second, falls), window);
  EXPECT_EQ(state.word, "burst");
  EXPECT_NEAR(state.clock_fall, 0.2, 1e-9);
  // An idle GPU has low clocks before.
  const Shape from_idle = [](double t) { return t < 0 ? 0.345e9 : t < 2 ? 1.98e9 : 1.584e9; };
  EXPECT_EQ(power_state(gpu("cuda0", after_half_a_second, from_idle), window).word, "burst");
  EXPECT_EQ(power_state(gpu("cuda0", after_half_a_second, fast), window).word, "sustained") << "no clock fell";
}

TEST(PowerState, BelowTheLimitItIsNeither) {
  EXPECT_EQ(power_state(gpu("cuda0", never, fast), window).word, "");
  EXPECT_EQ(power_state(gpu("cuda0", never, falls), window).word, "") << "not for want of power";
}

TEST(PowerState, AReadingASecondIsEnough) {
  std::vector<Series> series = gpu("cuda0", always, fast);
  for (Series& one : series) {
    one.times = {9 * second, 10 * second + 200'000'000, 11 * second + 300'000'000};
    one.values.resize(3);
  }
  EXPECT_EQ(power_state(series, {"steady", 10 * second, 12 * second}).word, "sustained");
}

TEST(PowerState, AReadingFromBeforeTheWarmUpMakesNoBurst) {
  // As on an H200: the last reading before the window is of the time before two seconds of warm-up, which came to the limit.
  std::vector<Series> series = gpu("cuda0", always, fast);
  for (Series& one : series)
    one.times = {8 * second + 100'000'000, 10 * second + 100'000'000, 11 * second + 100'000'000, 12 * second + 100'000'000};
  series[0].values = {0, 4, 4, 4};
  series[1].values = {1.98e9, 1.5e9, 1.49e9, 1.5e9};
  EXPECT_EQ(power_state(series, {"steady", 10 * second, 13 * second}).word, "sustained");
}

TEST(PowerState, OneOfSeveralGpusDecides) {
  std::vector<Series> series = gpu("cuda0", always, fast);
  for (const Series& one : gpu("cuda1", after_half_a_second, falls)) series.push_back(one);
  EXPECT_EQ(power_state(series, window).word, "burst");
}

TEST(PowerState, NoReadingsSayNothing) {
  EXPECT_EQ(power_state({}, window).word, "");
  EXPECT_EQ(power_state(gpu("cuda0", always, fast), {"steady", 20 * second, 21 * second}).word, "");
}

}  // namespace
}  // namespace deepgap
