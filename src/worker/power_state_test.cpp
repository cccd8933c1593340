#include "worker/power_state.h"

#include "record/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace deepgap {
namespace {

constexpr Nanoseconds second = 1'000'000'000;
const Window window{"steady", 10 * second, 14 * second};

using Curve = std::function<double(double seconds)>;

// Readings every 300 ms from before the window until after it; `limited`: the driver lowers the clocks because of the power limit.
std::vector<Series> gpu(const std::string& name, const std::function<bool(double)>& limited, const Curve& hz) {
  Series reasons{"nvml", "throttle_reasons." + name, "bits", false, {}, {}}, clock{"nvml", "clock_sm." + name, "Hz", false, {}, {}};
  for (Nanoseconds t = 8 * second; t < 16 * second; t += 300'000'000) {
    const double seconds = static_cast<double>(t - window.begin) / 1e9;
    reasons.times.push_back(t), clock.times.push_back(t);
    reasons.values.push_back(limited(seconds) ? 4 : 0), clock.values.push_back(hz(seconds));
  }
  return {reasons, clock};
}

bool always(double /*seconds*/) { return true; }
bool at_no_time(double /*seconds*/) { return false; }
bool after_half_a_second(double seconds) { return seconds >= 0.5; }
const Curve fast = [](double) { return 1.98e9; }, falls = [](double t) { return t < 2 ? 1.98e9 : 1.584e9; };

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
  const Curve from_idle = [](double t) { return t < 0 ? 0.345e9 : t < 2 ? 1.98e9 : 1.584e9; };
  EXPECT_EQ(power_state(gpu("cuda0", after_half_a_second, from_idle), window).word, "burst");
  EXPECT_EQ(power_state(gpu("cuda0", after_half_a_second, fast), window).word, "sustained") << "no clock fell";
}

TEST(PowerState, BelowTheLimitItIsNeither) {
  EXPECT_EQ(power_state(gpu("cuda0", at_no_time, fast), window).word, "");
  EXPECT_EQ(power_state(gpu("cuda0", at_no_time, falls), window).word, "") << "not for want of power";
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

// A finished Record with that window and those readings, in which that state was asked for.
Record noted(PowerAsked asked, std::vector<Series> series, const Facts& facts = {}) {
  Record record;
  record.verdict = Verdict::valid;
  record.windows = {window};
  record.series = std::move(series);
  record.facts = facts;
  note_power_state(asked, record);
  return record;
}

std::string text_of(const Record& record, const char* fact) {
  const auto found = record.facts.find(fact);
  return found == record.facts.end() ? "nothing" : std::get<std::string>(found->second);
}

TEST(PowerState, TheStateThatWasAskedForNeedsNoWord) {
  const Record sustained = noted(PowerAsked::sustained, gpu("cuda0", always, fast));
  EXPECT_EQ(sustained.verdict, Verdict::valid);
  EXPECT_EQ(text_of(sustained, power_state_fact), "sustained");
  EXPECT_EQ(text_of(sustained, power_asked_fact), "nothing");
  // The readings behind a burst's last query show the limit.
  const Record burst = noted(PowerAsked::burst, gpu("cuda0", after_half_a_second, falls), {{power_state_fact, std::string("burst")}});
  EXPECT_EQ(burst.verdict, Verdict::valid);
  EXPECT_EQ(text_of(burst, power_state_fact), "burst");
  EXPECT_EQ(text_of(burst, burst_fact), "nothing") << "it is what was asked for";
}

TEST(PowerState, ALimitThatCameWithinASustainedWindowIsUnstable) {
  const Record record = noted(PowerAsked::sustained, gpu("cuda0", after_half_a_second, falls));
  EXPECT_EQ(record.verdict, Verdict::unstable);
  EXPECT_EQ(record.reason,
            "asked for power=sustained, but the GPU came to its power limit within the window, and its clock fell by 20 %; raise "
            "--min-duration");
  const Record unasked = noted(PowerAsked::either, gpu("cuda0", after_half_a_second, falls));
  EXPECT_EQ(unasked.verdict, Verdict::valid);
  EXPECT_EQ(text_of(unasked, burst_fact), "burst: the GPU came to its power limit within the window, and its clock fell by 20 %");
}

TEST(PowerState, WhereTheLimitNeverComesBothStatesAreTheSame) {
  for (const PowerAsked asked : {PowerAsked::burst, PowerAsked::sustained}) {
    const Record record = noted(asked, gpu("cuda0", at_no_time, fast));
    EXPECT_EQ(record.verdict, Verdict::valid);
    EXPECT_THAT(text_of(record, power_asked_fact), ::testing::HasSubstr("stayed below its power limit"));
    EXPECT_EQ(text_of(record, power_state_fact), "nothing");
  }
  EXPECT_EQ(text_of(noted(PowerAsked::either, gpu("cuda0", at_no_time, fast)), power_asked_fact), "nothing");
}

}  // namespace
}  // namespace deepgap
