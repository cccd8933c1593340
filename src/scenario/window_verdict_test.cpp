// Tests what a window's verdict is worth: false alarms and what is found, over the sources of stats/test_sources.h. bench/coverage has the
// whole table.
#include "scenario/stopping.h"

#include "stats/test_series.h"
#include "stats/test_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>

namespace deepgap {
namespace {

using testing::HasSubstr;

constexpr int rounds = 200;

StoppingSettings settings_of(const std::string& rule, Nanoseconds length) {
  StoppingSettings settings;
  settings.name = rule;
  settings.duration = length;
  return settings;
}

std::unique_ptr<Stopping> fed(const QuerySource& source, const StoppingSettings& settings) {
  auto stopping = make_stopping(settings);
  Nanoseconds now = 0;
  for (uint64_t query = 0; stopping->state() == Stopping::State::more; ++query) {
    const auto length = static_cast<Nanoseconds>(source.next(static_cast<double>(now) / 1e9) * 1e9);
    const Timing timing{query, now, now, now + length, 1, Status::ok};
    now += length;
    stopping->add(std::span(&timing, 1));
  }
  return stopping;
}

constexpr Nanoseconds ten_s = 10'000'000'000;

template <typename Make>
double share_unstable(const StoppingSettings& settings, uint64_t seed, Make make) {
  Random random(seed);
  return share_of(rounds, [&] { return fed(make(random), settings)->verdict().verdict == Verdict::unstable; });
}

TEST(WindowVerdict, StationaryNoiseIsValid) {
  const auto settings = settings_of("interval", ten_s);
  EXPECT_LE(share_unstable(settings, 1, [](Random& r) { return white_source(r, 0.005, 0.01); }), 0.02);
  EXPECT_LE(share_unstable(settings, 2, [](Random& r) { return white_source(r, 0.005, 0.1); }), 0.02);
  EXPECT_LE(share_unstable(settings, 3, [](Random& r) { return ar1_source(r, 0.005, 0.05, 0.9); }), 0.02);
  EXPECT_LE(share_unstable(settings_of("duration", ten_s), 4, [](Random& r) { return ar1_source(r, 0.005, 0.05, 0.9); }), 0.02);
}

TEST(WindowVerdict, WhatChangesInsideTheWindowIsUnstableUnderEveryRule) {
  auto counts = settings_of("counts", 1);
  counts.iterations = 2000;
  for (const auto& settings : {settings_of("interval", ten_s), settings_of("duration", ten_s), counts}) {
    EXPECT_GE(share_unstable(settings, 5, [](Random& r) { return drift_source(r, 0.005, 0.05); }), 0.95) << settings.name;
    EXPECT_GE(share_unstable(settings, 6, [](Random& r) { return throttle_source(r, 0.005, 0.05, 5); }), 0.95) << settings.name;
    EXPECT_GE(share_unstable(settings, 7, [](Random& r) { return throttle_source(r, 0.005, 0.2, 2); }), 0.95) << settings.name;
    EXPECT_GE(share_unstable(settings, 8, [](Random& r) { return modes_source(r, 0.005, 0.1, 1); }), 0.95) << settings.name;
  }
}

// The interval was narrow before the step came; what came after counts all the same.
TEST(WindowVerdict, ANarrowMomentIsNotKept) {
  auto settings = settings_of("interval", 2'000'000'000);
  const auto stopping = make_stopping(settings);
  Random random(9);
  const QuerySource source = throttle_source(random, 0.005, 0.2, 6);
  Nanoseconds now = 0;
  while (now < ten_s) {  // as a rule around it that goes on
    const auto length = static_cast<Nanoseconds>(source.next(static_cast<double>(now) / 1e9) * 1e9);
    const Timing timing{0, now, now, now + length, 1, Status::ok};
    now += length;
    stopping->add(std::span(&timing, 1));
  }
  EXPECT_EQ(stopping->state(), Stopping::State::enough);
  const WindowVerdict verdict = stopping->verdict();
  EXPECT_EQ(verdict.verdict, Verdict::unstable);
  EXPECT_THAT(verdict.reason, HasSubstr("(target ±1 %); 20 % slower from 6"));
}

TEST(WindowVerdict, WhatIsSeveralTimesAsSlowIsSaidInTimes) {
  Random random(12);
  const auto reason = [&](const QuerySource& source) { return fed(source, settings_of("interval", ten_s))->verdict().reason; };
  EXPECT_THAT(reason(throttle_source(random, 0.005, 25, 4)), HasSubstr("; 26 times slower from 4"));
  int query = 0;
  const QuerySource turns{
      [&](double) { return (query++ / 300 % 2 == 0 ? 0.001 : 0.01) * (1 + 0.01 * std::normal_distribution<double>()(random)); }, 0, 0};
  EXPECT_THAT(fed(turns, settings_of("duration", ten_s))->verdict().reason,
              testing::ContainsRegex("alternated between two speeds, one (8|9|10)(\\.[0-9])? times the other"));
}

TEST(WindowVerdict, WhatWasNotAskedIsAsFound) {
  Random random(10);
  const WindowVerdict verdict = fed(white_source(random, 0.005, 0.1), settings_of("duration", ten_s))->verdict();
  EXPECT_EQ(verdict.verdict, Verdict::as_found);
  EXPECT_THAT(verdict.as_found, testing::MatchesRegex("throughput CI ±0\\.[0-9]+ %, no target"));
}

// It never has enough by itself: the scenario ends it.
TEST(WindowVerdict, WhatEndsByItsScheduleIsJudgedToo) {
  Random random(13);
  const auto until_ten_s = [&](const QuerySource& source) {
    const auto stopping = make_stopping(settings_of("schedule", ten_s));
    for (Nanoseconds now = 0; now < ten_s;) {
      const auto length = static_cast<Nanoseconds>(source.next(static_cast<double>(now) / 1e9) * 1e9);
      const Timing timing{0, 0, now, now + length, 1, Status::ok};  // all were due at the beginning
      now += length;
      stopping->add(std::span(&timing, 1));
    }
    EXPECT_EQ(stopping->state(), Stopping::State::more);
    return stopping->verdict();
  };
  const WindowVerdict steady = until_ten_s(white_source(random, 0.005, 0.1));
  EXPECT_EQ(steady.verdict, Verdict::as_found) << steady.reason;
  EXPECT_THAT(steady.as_found, HasSubstr("no target"));
  const WindowVerdict throttled = until_ten_s(throttle_source(random, 0.005, 0.2, 4));
  EXPECT_EQ(throttled.verdict, Verdict::unstable);
  EXPECT_THAT(throttled.reason, HasSubstr("20 % slower from 4"));
}

TEST(WindowVerdict, AShortLookIsAsFound) {
  Random random(11);
  const WindowVerdict verdict = fed(white_source(random, 0.005, 0.01), settings_of("interval", 500'000'000))->verdict();
  EXPECT_EQ(verdict.verdict, Verdict::as_found);
  EXPECT_THAT(verdict.as_found, HasSubstr("too short to see what lasts for seconds"));
  EXPECT_EQ(fed(white_source(random, 0.005, 0.01), settings_of("interval", ten_s))->verdict().as_found, "");
  EXPECT_EQ(fed(white_source(random, 0.005, 0.01), settings_of("interval", ten_s))->verdict().verdict, Verdict::valid);
}

TEST(WindowVerdict, ASlowBeginningIsToldFromAThrottle) {
  Random random(12);
  const WindowVerdict warming = fed(warming_source(random, 0.005, 0.2, 1), settings_of("duration", ten_s))->verdict();
  EXPECT_TRUE(warming.warming) << warming.reason;
  EXPECT_THAT(warming.reason, HasSubstr("steady then"));
  EXPECT_FALSE(fed(throttle_source(random, 0.005, 0.2, 2), settings_of("duration", ten_s))->verdict().warming);
  const auto stopping = fed(warming_source(random, 0.005, 0.2, 2), settings_of("interval", ten_s));
  EXPECT_TRUE(stopping->verdict().warming);
  EXPECT_THAT(stopping->reason(), HasSubstr("still warming up"));
}

TEST(WindowVerdict, NothingAndOneAndConstantAreNoTrouble) {
  auto settings = settings_of("counts", 1);
  settings.iterations = 1;
  const QuerySource constant{[](double) { return 0.01; }, 0.01, 0.01};
  EXPECT_THAT(make_stopping(settings)->verdict().as_found, HasSubstr("CI unknown"));
  EXPECT_THAT(fed(constant, settings)->verdict().as_found, HasSubstr("CI unknown")) << "one timing has no interval";
  EXPECT_EQ(make_stopping(settings_of("interval", ten_s))->verdict().verdict, Verdict::unstable);
  EXPECT_EQ(fed(constant, settings_of("interval", ten_s))->verdict().verdict, Verdict::valid);
}

}  // namespace
}  // namespace deepgap
