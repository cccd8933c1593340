#include "worker/load_verdict.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
constexpr Nanoseconds ms = 1'000'000, second = 1'000 * ms;

TEST(LatencyBound, IsAPercentileAndALimit) {
  const LatencyBound bound = parse_latency_bound("p99.9=1500us");
  EXPECT_EQ(bound.percent, 99.9);
  EXPECT_EQ(bound.limit, 1'500'000);
  EXPECT_EQ(fewest_queries(bound), 1000);
  EXPECT_EQ(fewest_queries(parse_latency_bound("p99=15ms")), 100);
  EXPECT_EQ(fewest_queries(parse_latency_bound("p50=15ms")), 2);
  EXPECT_EQ(fewest_queries(parse_latency_bound("p97=15ms")), 34);
  for (const std::string wrong :
       {"", "p99", "p99=", "99=15ms", "p99=15", "p99=0ms", "p99=-1ms", "p100=1ms", "p0=1ms", "p99=inf", "=15ms"}) {
    try {
      parse_latency_bound(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.what(), HasSubstr("'" + wrong + "' for bound"));
    }
  }
}

OfferedLoad load_of(int64_t offered, int64_t waiting) {
  OfferedLoad load;
  load.length = 10 * second;
  load.offered = offered;
  load.waiting = waiting;
  load.finished_in_time = offered - waiting;
  load.oldest_wait = waiting > 0 ? 3 * second : 0;
  return load;
}

std::string reason_of(const OfferedLoad& load, const std::optional<LatencyBound>& bound, const LatencySummary& latencies,
                      BoundRule rule = BoundRule::shown) {
  const LoadVerdict judged = judge_load(load, bound, latencies, rule);
  EXPECT_EQ(judged.reason.empty(), judged.verdict == Verdict::valid);
  return judged.reason;
}

TEST(LoadVerdict, AnOverloadStatesItsBacklog) {
  const std::string reason = reason_of(load_of(10'000, 4000), {}, {});
  EXPECT_THAT(reason, HasSubstr("4000 of 10000 queries were waiting, the oldest for 3 s"));
  EXPECT_THAT(reason, HasSubstr("1000 queries a second were offered and 600 answered"));
  OfferedLoad late = load_of(10'000, 4000);
  late.issuer_was_late = true;
  EXPECT_THAT(reason_of(late, {}, {}), HasSubstr("deepgap could not issue 1000 queries a second"));
  EXPECT_THAT(reason_of(load_of(most_waiting_counted + 5, most_waiting_counted), {}, {}), HasSubstr("at least 10000000 of"));
  EXPECT_EQ(reason_of(load_of(10'000, 0), {}, {}), "");
  EXPECT_THAT(reason_of(load_of(0, 0), {}, {}), HasSubstr("no query was due within 10 s"));
}

TEST(LoadVerdict, ALongQueueThatMayNotGrowIsUndecided) {
  OfferedLoad load = load_of(100, 0);
  load.oldest_wait = second;
  EXPECT_EQ(judge_load(load, {}, {}).verdict, Verdict::undecided);
  EXPECT_THAT(reason_of(load, {}, {}), HasSubstr("had waited for 1 s, and 100 queries are too few to see whether the queue grows"));
  EXPECT_EQ(judge_load(load, parse_latency_bound("p50=15ms"), {100, 2e6, 3e6, 0}).verdict, Verdict::valid) << "all latencies are known";
  load.oldest_wait = second / 3;
  EXPECT_EQ(judge_load(load, {}, {}).verdict, Verdict::valid);
}

TEST(LoadVerdict, ABoundIsHeldOrBrokenInWords) {
  const auto bound = parse_latency_bound("p99=15ms");
  const auto verdict = [&](const LatencySummary& latencies) { return reason_of(load_of(1000, 0), bound, latencies); };
  EXPECT_EQ(verdict({1000, 2e6, 15e6, 1}), "") << "at the bound is within it";
  EXPECT_THAT(verdict({1000, 2e6, 21.3e6, 40}), HasSubstr("p99 latency is 21.3 ms, above the SLO of 15 ms; lower the load"));
  EXPECT_THAT(verdict({1000, 16e6, 21e6, 1000}), HasSubstr("is missed: even the fastest query took 16 ms"));
  EXPECT_EQ(verdict({99, 2e6, 3e6, 0}).substr(0, 78), "0 of 99 queries missed the SLO p99=15ms: too few to decide; about 360 more may");
  EXPECT_THAT(verdict({1000, 2e6, 15e6, 10}), HasSubstr("10 of 1000 queries missed the SLO p99=15ms: exactly as many as it allows"));
  OfferedLoad late = load_of(1000, 0);
  for (int i = 0; i < 100; ++i) late.lateness.add(i < 90 ? 1000 : 6'000'000);
  EXPECT_THAT(reason_of(late, bound, {1000, 2e6, 21e6, 40}), HasSubstr("issued late, by 6 ms"));
  EXPECT_THAT(reason_of({}, bound, {1000, 2e6, 21e6, 40}), HasSubstr("p99 latency")) << "a closed loop has a bound too";
}

TEST(LoadVerdict, ABoundIsHeldMissedOrNotKnown) {
  const auto bound = parse_latency_bound("p99=15ms");
  const auto verdict = [&](int64_t count, int64_t missed) { return judge_load({}, bound, {count, 2e6, 16e6, missed}).verdict; };
  EXPECT_EQ(verdict(0, 0), Verdict::undecided);
  EXPECT_EQ(verdict(100, 0), Verdict::undecided) << "of such windows 37 in 100 show none where one in a hundred is late";
  EXPECT_EQ(verdict(458, 0), Verdict::undecided);
  EXPECT_EQ(verdict(459, 0), Verdict::valid);
  EXPECT_EQ(verdict(459, 1), Verdict::undecided);
  EXPECT_EQ(verdict(662, 1), Verdict::valid);
  EXPECT_EQ(verdict(40, 2), Verdict::undecided);
  EXPECT_EQ(verdict(40, 4), Verdict::invalid);
  EXPECT_EQ(verdict(10'000, 100), Verdict::undecided) << "just what may miss";
  EXPECT_EQ(verdict(10'000, 76), Verdict::valid);
  EXPECT_EQ(verdict(10'000, 126), Verdict::invalid);
}

TEST(LoadVerdict, WhatWasShedMissedTheBound) {
  const auto bound = parse_latency_bound("p99=15ms");
  const LatencySummary shed{1000, 2e6, std::numeric_limits<double>::infinity(), 30, 30};
  EXPECT_EQ(judge_load({}, bound, shed).verdict, Verdict::invalid);
  EXPECT_THAT(reason_of({}, bound, shed), HasSubstr("30 of 1000 queries took longer than 15 ms or were shed (30)"));
}

TEST(LoadVerdict, OfASearchTheWindowsOwnPercentileIsHeldAgainstTheLimit) {
  const auto bound = parse_latency_bound("p99=15ms");
  const auto verdict = [&](const LatencySummary& latencies) { return judge_load({}, bound, latencies, BoundRule::nearest_rank).verdict; };
  EXPECT_EQ(verdict({99, 2e6, 3e6, 0}), Verdict::undecided);
  EXPECT_EQ(verdict({99, 2e6, 16e6, 1}), Verdict::undecided) << "one of a hundred may miss";
  EXPECT_EQ(verdict({100, 2e6, 15e6, 1}), Verdict::valid);
  EXPECT_EQ(verdict({1000, 2e6, 16e6, 11}), Verdict::invalid);
  EXPECT_EQ(verdict({40, 2e6, 16e6, 2}), Verdict::invalid);
  const auto reason = [&](const LatencySummary& latencies) { return reason_of({}, bound, latencies, BoundRule::nearest_rank); };
  EXPECT_THAT(reason({99, 2e6, 3e6, 0}), HasSubstr("99 queries are too few to decide the SLO p99=15ms: it needs 100"));
  EXPECT_THAT(reason({40, 2e6, 16e6, 2}), HasSubstr("2 of 40 queries took longer than 15 ms"));
  EXPECT_THAT(reason({2, 16e6, 17e6, 2}), HasSubstr("even the fastest query took 16 ms"));
}

TEST(LatencyBound, SaysHowManyMayMiss) {
  EXPECT_EQ(misses_allowed(parse_latency_bound("p99=15ms"), 100), 1);
  EXPECT_EQ(misses_allowed(parse_latency_bound("p99=15ms"), 199), 1);
  EXPECT_EQ(misses_allowed(parse_latency_bound("p99=15ms"), 200), 2);
  EXPECT_EQ(misses_allowed(parse_latency_bound("p99.9=15ms"), 1000), 1);
  EXPECT_EQ(misses_allowed(parse_latency_bound("p50=15ms"), 2), 1);
}

TEST(LoadVerdict, EstimatesOfTheLoad) {
  EXPECT_TRUE(load_estimates({}).empty());
  OfferedLoad load = load_of(10'000, 4000);
  for (int i = 0; i < 100; ++i) load.lateness.add(i < 98 ? 1000 : 50'000);
  const auto estimates = load_estimates(load);
  EXPECT_EQ(estimates.at("offered_rate").value, 1000);
  EXPECT_EQ(estimates.at("achieved_rate").value, 600);
  EXPECT_EQ(estimates.at("issue_lateness_p50_us").value, 1);
  EXPECT_NEAR(estimates.at("issue_lateness_p99_us").value, 50, 0.05);
  EXPECT_EQ(estimates.at("issue_lateness_max_us").value, 50);
}

}  // namespace
}  // namespace deepgap
