#include "scenario/stopping.h"
#include "scenario/stopping/settled.h"

#include "stats/test_series.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace deepgap {
namespace {

using testing::HasSubstr;
using State = Stopping::State;

// Feeds queries back to back, `samples` each, until the Stopping has enough or `most` were given. Returns how many.
template <typename Latency>
int64_t feed(Stopping& stopping, int64_t most, uint32_t samples, Latency latency) {
  Nanoseconds now = 1'000;
  int64_t given = 0;
  while (given < most && stopping.state() == State::more) {
    const auto length = static_cast<Nanoseconds>(latency(given));
    const Timing timing{static_cast<uint64_t>(given), now, now, now + length, samples, Status::ok};
    stopping.add(std::span(&timing, 1));
    now += length;
    ++given;
  }
  return given;
}

StoppingSettings settings(const std::string& name) {
  StoppingSettings s;
  s.name = name;
  return s;
}

std::string usage_error(const StoppingSettings& s) {
  try {
    make_stopping(s);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

std::unique_ptr<Stopping> settling(std::function<bool(Nanoseconds)> settled) {
  auto s = settings("interval");
  s.warmup = 20;
  return until_settled(make_warmup(s), std::move(settled), "the GPU's clocks", 5'000'000'000);
}

TEST(UntilSettled, AWarmUpGoesOnUntilTheClocksAreSteady) {
  const auto warmup = settling([](Nanoseconds now) { return now >= 1'000'001'000; });
  EXPECT_EQ(feed(*warmup, 10'000, 1, [](int64_t) { return 2'000'000; }), 500);
  EXPECT_EQ(warmup->state(), State::enough);
  EXPECT_EQ(warmup->reason(), "20 warm-up queries as asked, then until the GPU's clocks were steady, after 1 s");
}

TEST(UntilSettled, ItsRuleDecidesWhereTheyAreSteady) {
  const auto warmup = settling([](Nanoseconds) { return true; });
  EXPECT_EQ(feed(*warmup, 10'000, 1, [](int64_t) { return 2'000'000; }), 20);
  EXPECT_EQ(warmup->reason(), "20 warm-up queries as asked");
}

TEST(UntilSettled, ItDoesNotWaitForEver) {
  const auto warmup = settling([](Nanoseconds) { return false; });
  EXPECT_EQ(feed(*warmup, 10'000, 1, [](int64_t) { return 2'000'000; }), 2'500);
  EXPECT_EQ(warmup->reason(), "20 warm-up queries as asked, but the GPU's clocks were not steady after 5 s");
}

TEST(MinDuration, ARuleThatHasEnoughGoesOnUntilTheTimeHasPassed) {
  auto s = settings("counts");
  s.iterations = 100;
  s.duration = 1'000'000'000;
  const auto quick = make_stopping(s);
  EXPECT_EQ(feed(*quick, 10'000, 1, [](int64_t) { return 2'000'000; }), 500);  // 100 take 0.2 s
  EXPECT_EQ(quick->reason(), "100 iterations, then until 1 s had passed");
  EXPECT_EQ(quick->throughput().n, 500);
  const auto slow = make_stopping(s);
  EXPECT_EQ(feed(*slow, 10'000, 1, [](int64_t) { return 20'000'000; }), 100);  // 100 take 2 s
  EXPECT_EQ(slow->reason(), "100 iterations");
}

TEST(MinDuration, ABudgetIsNotShorter) {
  auto s = settings("interval");
  s.interval = 0.05;
  s.budget = 1'000'000'000;
  s.duration = 3'000'000'000;
  const auto stopping = make_stopping(s);
  EXPECT_EQ(feed(*stopping, 10'000, 1, [](int64_t i) { return i % 2 == 0 ? 9'000'000 : 11'000'000; }), 300);
  EXPECT_EQ(stopping->state(), State::enough);
  s.duration = 0;
  EXPECT_THAT(usage_error(s), HasSubstr("--min-duration"));
}

TEST(Counts, StopsAtTheNumber) {
  auto s = settings("counts");
  s.iterations = 100;
  const auto stopping = make_stopping(s);
  EXPECT_EQ(feed(*stopping, 1000, 4, [](int64_t) { return 2'000'000; }), 100);
  EXPECT_EQ(stopping->state(), State::enough);
  EXPECT_EQ(stopping->reason(), "100 iterations");
  EXPECT_DOUBLE_EQ(stopping->throughput().value, 2000);  // 4 items in 2 ms
  EXPECT_EQ(stopping->throughput().n, 100);
  EXPECT_NEAR(*stopping->throughput().low, 2000, 1e-6);
}

TEST(Duration, TheQueryThatPassesTheEndCounts) {
  auto s = settings("duration");
  s.duration = 10'000'000;
  const auto stopping = make_stopping(s);
  EXPECT_EQ(feed(*stopping, 1000, 1, [](int64_t) { return 3'000'000; }), 4);
  EXPECT_EQ(stopping->state(), State::enough);
  EXPECT_NEAR(stopping->throughput().value, 1000.0 / 3, 1e-9);
}

TEST(Settings, WhatIsMissingOrWrongIsNamed) {
  EXPECT_THAT(usage_error(settings("counts")), HasSubstr("--iterations"));
  EXPECT_THAT(usage_error(settings("duration")), HasSubstr("--duration"));
  EXPECT_THAT(usage_error(settings("intervall")), HasSubstr("did you mean 'interval'"));
  auto s = settings("interval");
  s.interval = 0;
  EXPECT_THAT(usage_error(s), HasSubstr("--interval"));
  s.interval = 0.01;
  s.target = "latency";
  EXPECT_THAT(usage_error(s), HasSubstr("'p99'"));
  s.target = "throughput";
  s.budget = 0;
  EXPECT_THAT(usage_error(s), HasSubstr("budget"));
}

TEST(Interval, ConstantStopsAfterHalfASecond) {
  const auto stopping = make_stopping(settings("interval"));
  const int64_t queries = feed(*stopping, 100'000, 1, [](int64_t) { return 1'000'000; });
  EXPECT_GE(queries, 500);
  EXPECT_LE(queries, 600);
  EXPECT_EQ(stopping->state(), State::enough);
  EXPECT_EQ(stopping->reason(), "throughput CI ±0 % (target ±1 %)");
}

TEST(Interval, SlowQueriesNeedTen) {
  const auto stopping = make_stopping(settings("interval"));
  const int64_t queries = feed(*stopping, 100, 1, [](int64_t) { return 200'000'000; });
  EXPECT_GE(queries, 10);
  EXPECT_LE(queries, 12);
}

// Independent normal latencies of 5 %: 1 % at 95 % needs (1.96 * 5)^2 = 96 of them; batch means and the second look ask for somewhat more.
TEST(Interval, StopsNearTheClosedForm) {
  std::mt19937_64 random(21);
  std::normal_distribution<double> normal(50e6, 2.5e6);
  double mean = 0;
  for (int round = 0; round < 200; ++round) {
    const auto stopping = make_stopping(settings("interval"));
    mean += static_cast<double>(feed(*stopping, 100'000, 1, [&](int64_t) { return normal(random); })) / 200;
    EXPECT_EQ(stopping->state(), State::enough);
  }
  EXPECT_GT(mean, 85);
  EXPECT_LT(mean, 160);
}

TEST(Interval, BudgetEndsItInWords) {
  auto s = settings("interval");
  s.budget = 2'000'000'000;
  std::mt19937_64 random(22);
  std::lognormal_distribution<double> heavy(std::log(20e6), 0.8);
  const auto stopping = make_stopping(s);
  feed(*stopping, 100'000, 1, [&](int64_t) { return heavy(random); });
  EXPECT_EQ(stopping->state(), State::exhausted);
  EXPECT_THAT(stopping->reason(), testing::MatchesRegex("throughput CI ±[0-9.]+ % after the budget of 2.* s \\(target ±1 %\\)"));
}

TEST(Interval, OneQueryLongerThanTheBudgetSaysThatNothingIsKnown) {
  auto s = settings("interval");
  s.budget = 1'000'000'000;
  const auto stopping = make_stopping(s);
  EXPECT_EQ(feed(*stopping, 10, 1, [](int64_t) { return 3'000'000'000; }), 1);
  EXPECT_EQ(stopping->state(), State::exhausted);
  EXPECT_THAT(stopping->reason(), HasSubstr("CI unknown after the budget"));
  EXPECT_FALSE(stopping->throughput().low);
}

TEST(Interval, CorrelationAsksForMore) {
  std::mt19937_64 random(23);
  const auto queries_for = [&](double rho) {
    int64_t total = 0;
    for (int round = 0; round < 20; ++round) {
      const auto series = ar1_series(random, 200'000, 1e7, 5e5, rho);
      const auto stopping = make_stopping(settings("interval"));
      total += feed(*stopping, 200'000, 1, [&](int64_t i) { return series[static_cast<size_t>(i)]; });
    }
    return total / 20;
  };
  EXPECT_GT(queries_for(0.9), 5 * queries_for(0));  // (1 + rho) / (1 - rho) = 19 for an endless series
}

// Measures the cost of optional stopping: share of runs whose final interval holds the truth. Nominal 95 %.
double coverage_after_stopping(double rho, double deviation, uint64_t seed) {
  std::mt19937_64 random(seed);
  const double covered = share_of(600, [&] {
    const auto series = ar1_series(random, 60'000, 1e8, deviation * 1e8, rho);
    auto s = settings("interval");
    s.budget = never;
    const auto stopping = make_stopping(s);
    feed(*stopping, 60'000, 1, [&](int64_t i) { return series[static_cast<size_t>(i)]; });
    const Estimate throughput = stopping->throughput();
    return *throughput.low <= 10 && 10 <= *throughput.high;
  });
  ::testing::Test::RecordProperty(fmt::format("coverage_rho_{}_deviation_{}", rho, deviation), std::to_string(covered));
  return covered;
}

TEST(Interval, StillCoversAfterStopping) {
  EXPECT_GE(coverage_after_stopping(0, 0.05, 24), 0.92 - chance(0.92, 600));
  EXPECT_GE(coverage_after_stopping(0, 0.02, 25), 0.90 - chance(0.90, 600)) << "ends after some twenty queries";
  EXPECT_GE(coverage_after_stopping(0.9, 0.05, 26), 0.90 - chance(0.90, 600));
}

TEST(Interval, PercentileTarget) {
  auto s = settings("interval");
  s.target = "p99";
  s.interval = 0.05;
  std::mt19937_64 random(27);
  std::lognormal_distribution<double> latency(std::log(1e6), 0.2);
  const auto stopping = make_stopping(s);
  const int64_t queries = feed(*stopping, 1'000'000, 1, [&](int64_t) { return latency(random); });
  EXPECT_EQ(stopping->state(), State::enough);
  EXPECT_GE(queries, 368) << "fewer say nothing about p99";
  EXPECT_LT(queries, 20'000);
  EXPECT_THAT(stopping->reason(), HasSubstr("p99 CI \u00b1"));
}

TEST(Warmup, FixedCount) {
  auto s = settings("interval");
  s.warmup = 20;
  const auto warmup = make_warmup(s);
  EXPECT_EQ(feed(*warmup, 1000, 1, [](int64_t) { return 10; }), 20);
  EXPECT_EQ(warmup->state(), State::enough);
  s.warmup = 0;
  EXPECT_EQ(make_warmup(s)->state(), State::enough);
}

TEST(Warmup, ConstantIsSteadyAfterEightQueriesAndAFifthOfASecond) {
  const auto slow = make_warmup(settings("interval"));
  EXPECT_EQ(feed(*slow, 1000, 1, [](int64_t) { return 100'000'000; }), 8);
  const auto fast = make_warmup(settings("interval"));
  const int64_t queries = feed(*fast, 100'000, 1, [](int64_t) { return 1'000'000; });
  EXPECT_GE(queries, 200);
  EXPECT_LT(queries, 230);
}

TEST(Warmup, WaitsForTheDecay) {
  const auto warmup = make_warmup(settings("interval"));  // twice as slow at first, gone with a time constant of 100 queries
  const int64_t queries = feed(*warmup, 100'000, 1, [](int64_t i) { return 5e6 * (1 + std::exp(-static_cast<double>(i) / 100)); });
  EXPECT_EQ(warmup->state(), State::enough);
  EXPECT_GT(queries, 300);
  EXPECT_LT(queries, 1500);
}

TEST(Warmup, EndlessDriftEndsAtTheBudget) {
  auto s = settings("interval");
  s.warmup_budget = 5'000'000'000;
  const auto warmup = make_warmup(s);
  feed(*warmup, 100'000, 1, [](int64_t i) { return 1e7 * (1 + static_cast<double>(i) / 100); });
  EXPECT_EQ(warmup->state(), State::exhausted);
  EXPECT_THAT(warmup->reason(), HasSubstr("no steady state within the warm-up budget of 5"));
}

}  // namespace
}  // namespace deepgap
