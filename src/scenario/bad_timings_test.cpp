// Timings as no good clock gives them: a clock that steps, queries that take no time or less than none, one alone, all the same. Whatever
// comes, a rule ends where it can, says nothing that is no number, and calls nothing valid that is not.
#include "scenario/stopping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000, one_s = 1'000 * ms;

StoppingSettings settings_of(const std::string& rule) {
  StoppingSettings settings;
  settings.name = rule;
  if (rule != "counts") settings.duration = 3 * one_s;
  settings.iterations = 600;
  return settings;
}

// Makes 1000 queries of 5 ms, one after the other, as `told` changes them.
std::vector<Timing> told_by(const std::function<void(Timing&)>& told) {
  std::vector<Timing> timings;
  for (uint64_t i = 0; i < 1000; ++i) {
    const Nanoseconds begin = static_cast<Nanoseconds>(i) * 5 * ms;
    timings.push_back({i, begin, begin, begin + 5 * ms, 1, Status::ok});
    told(timings.back());
  }
  return timings;
}

struct BadClock {
  std::string name;
  std::function<void(Timing&)> told;
};

std::vector<BadClock> bad_clocks() {
  const auto shift = [](Timing& timing, Nanoseconds by) {
    timing.scheduled += by;
    timing.begin += by;
    timing.end += by;
  };
  return {{"steps back by a second", [=](Timing& t) { shift(t, t.query >= 300 ? -one_s : 0); }},
          {"steps back by an hour", [=](Timing& t) { shift(t, t.query >= 300 ? -3600 * one_s : 0); }},
          {"steps forth by an hour", [=](Timing& t) { shift(t, t.query >= 300 ? 3600 * one_s : 0); }},
          {"steps to and fro", [=](Timing& t) { shift(t, t.query % 2 == 0 ? -one_s : 0); }},
          {"stands still", [](Timing& t) { t.scheduled = t.begin = t.end = one_s; }},
          {"stood still for a while", [](Timing& t) { t.scheduled = t.begin = t.end = t.query < 500 ? one_s : t.end; }},
          {"runs back", [](Timing& t) { t.begin = t.scheduled = -t.begin, t.end = -t.end; }},
          {"took less than nothing", [](Timing& t) { t.end = t.begin - t.end; }}};
}

void expect_numbers(const Estimate& estimate, const std::string& name) {
  EXPECT_TRUE(std::isfinite(estimate.value)) << name;
  EXPECT_TRUE(std::isfinite(estimate.low.value_or(0))) << name;
  EXPECT_TRUE(std::isfinite(estimate.high.value_or(0))) << name;
  EXPECT_FALSE(estimate.low && estimate.high && *estimate.low > *estimate.high) << name;
}

TEST(BadTimings, AreNeverValidAndAlwaysNumbers) {
  for (const BadClock& clock : bad_clocks()) {
    for (const std::string rule : {"counts", "duration", "interval", "schedule"}) {
      const std::string name = clock.name + ", " + rule;
      const auto stopping = make_stopping(settings_of(rule));
      for (const Timing& timing : told_by(clock.told)) stopping->add(std::span(&timing, 1));
      expect_numbers(stopping->throughput(), name);
      const WindowVerdict verdict = stopping->verdict();
      EXPECT_NE(verdict.verdict, Verdict::valid) << name << ": " << stopping->reason();
      EXPECT_EQ(verdict.verdict == Verdict::as_found, verdict.reason.empty()) << name;
      EXPECT_THAT(verdict.reason + verdict.as_found + stopping->reason(), testing::Not(testing::ContainsRegex("nan|inf"))) << name;
      EXPECT_TRUE(rule != "counts" || stopping->state() == Stopping::State::enough) << name;
    }
  }
}

TEST(BadTimings, EndTheWarmUpOrLeaveItToItsBudget) {
  for (const BadClock& clock : bad_clocks()) {
    const auto warmup = make_warmup({});
    for (const Timing& timing : told_by(clock.told)) warmup->add(std::span(&timing, 1));
    expect_numbers(warmup->throughput(), clock.name);
    EXPECT_THAT(warmup->reason(), testing::Not(testing::ContainsRegex("nan|inf"))) << clock.name;
  }
}

TEST(BadTimings, OneAndAllTheSame) {
  for (const std::string rule : {"counts", "duration", "interval", "schedule"}) {
    const auto one = make_stopping(settings_of(rule)), same = make_stopping(settings_of(rule));
    const std::vector<Timing> timings = told_by([](Timing&) {});
    one->add(std::span(timings).first(1));
    EXPECT_DOUBLE_EQ(one->throughput().value, 200) << rule;
    EXPECT_FALSE(one->throughput().low || one->throughput().high) << rule << ": one timing has no interval";
    EXPECT_NE(one->verdict().verdict, Verdict::valid) << rule;
    for (const Timing& timing : timings) same->add(std::span(&timing, 1));
    EXPECT_DOUBLE_EQ(same->throughput().value, 200) << rule;
    expect_numbers(same->throughput(), rule);
    EXPECT_EQ(same->verdict().verdict, rule == "interval" ? Verdict::valid : Verdict::as_found) << rule << same->verdict().reason;
  }
}

}  // namespace
}  // namespace deepgap
