#include "worker/power_state.h"

#include <gtest/gtest.h>

#include <functional>

namespace deepgap {
namespace {

constexpr Nanoseconds second = 1'000'000'000;
const Window window{"steady", 10 * second, 14 * second};

using Shape = std::function<double(double seconds)>;

// Readings every 300 ms from before the window until after it.
std::vector<Series> gpu(const std::string& name, const Shape& watts, const Shape& hz) {
  Series power{"nvml", "power." + name, "W", false, {}, {}}, clock{"nvml", "clock_sm." + name, "Hz", false, {}, {}};
  for (Nanoseconds t = 8 * second; t < 16 * second; t += 300'000'000) {
    const double seconds = static_cast<double>(t - window.begin) / 1e9;
    power.times.push_back(t), clock.times.push_back(t);
    power.values.push_back(watts(seconds)), clock.values.push_back(hz(seconds));
  }
  return {power, clock, {"nvml", "power_limit." + name, "W", false, {9 * second}, {700}}};
}

const Shape limit = [](double) { return 695.0; }, fast = [](double) { return 1.98e9; };

TEST(PowerState, AtTheLimitWithLevelClocksItIsSustained) {
  EXPECT_EQ(power_state(gpu("cuda0", limit, [](double t) { return 1.5e9 + (t < 2 ? 1e7 : -1e7); }), window).word, "sustained");
}

TEST(PowerState, ClocksThatFallWithinTheWindowAreABurst) {
  const PowerState state =
      power_state(gpu(
                      "cuda0", [](double t) { return t < 0.5 ? 500 : 695; }, [](double t) { return t < 2 ? 1.98e9 : 1.584e9; }),
                  window);
  EXPECT_EQ(state.word, "burst");
  EXPECT_NEAR(state.clock_fall, 0.2, 1e-9);
}

TEST(PowerState, BelowTheLimitItIsNeither) {
  EXPECT_EQ(power_state(gpu(
                            "cuda0", [](double) { return 400; }, fast),
                        window)
                .word,
            "");
  const Shape falls = [](double t) { return t < 2 ? 1.98e9 : 1.5e9; };
  EXPECT_EQ(power_state(gpu(
                            "cuda0", [](double) { return 400; }, falls),
                        window)
                .word,
            "")
      << "not for want of power";
}

// As read on an H100: at its limit the clock goes from 1755 to 1935 MHz and back, and a reading takes about a second.
TEST(PowerState, ClocksThatSwingAtTheLimitAreNoBurst) {
  const Shape swings = [](double t) { return t < 2 ? 1.9e9 : 1.8e9; };
  EXPECT_EQ(power_state(gpu("cuda0", limit, swings), window).word, "sustained");
}

TEST(PowerState, AReadingASecondIsEnough) {
  std::vector<Series> series = gpu("cuda0", limit, fast);
  for (Series& one : series) {
    if (one.times.size() == 1) continue;
    one.times = {9 * second, 10 * second + 200'000'000, 11 * second + 300'000'000};
    one.values.resize(3);
  }
  EXPECT_EQ(power_state(series, {"steady", 10 * second, 12 * second}).word, "sustained");
}

TEST(PowerState, OneOfSeveralGpusDecides) {
  std::vector<Series> series = gpu("cuda0", limit, fast);
  const Shape rises = [](double t) { return t < 0.5 ? 500.0 : 695.0; };
  for (const Series& one : gpu("cuda1", rises, [](double t) { return t < 2 ? 1.98e9 : 1.584e9; })) series.push_back(one);
  EXPECT_EQ(power_state(series, window).word, "burst");
}

TEST(PowerState, TooFewReadingsSayNothing) {
  EXPECT_EQ(power_state(gpu("cuda0", limit, fast), {"steady", 10 * second + 150'000'000, 10 * second + 300'000'000}).word, "");
  EXPECT_EQ(power_state({}, window).word, "");
}

}  // namespace
}  // namespace deepgap
