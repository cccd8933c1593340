#include "worker/load_verdict.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::HasSubstr;
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
      EXPECT_THAT(error.what(), HasSubstr("bound='" + wrong + "'"));
    }
  }
}

OfferedLoad load_of(int64_t offered, int64_t waiting) {
  OfferedLoad load;
  load.length = 10 * second;
  load.offered = offered;
  load.waiting = waiting;
  load.finished_in_time = offered - waiting;
  load.oldest_wait = 3 * second;
  return load;
}

std::string reason_of(const OfferedLoad& load, const std::optional<LatencyBound>& bound, const LatencySummary& latencies) {
  const LoadVerdict judged = judge_load(load, bound, latencies);
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

TEST(LoadVerdict, ABoundIsHeldOrBrokenInWords) {
  const auto bound = parse_latency_bound("p99=15ms");
  const auto verdict = [&](const LatencySummary& latencies) { return reason_of(load_of(1000, 0), bound, latencies); };
  EXPECT_EQ(verdict({1000, 2e6, 15e6}), "") << "at the bound is within it";
  EXPECT_THAT(verdict({1000, 2e6, 21.3e6}), HasSubstr("p99 latency is 21.3 ms, above the bound of 15 ms; lower the load"));
  EXPECT_THAT(verdict({1000, 16e6, 21e6}), HasSubstr("cannot be held: even the fastest query took 16 ms"));
  EXPECT_THAT(verdict({99, 2e6, 3e6}), HasSubstr("99 queries are too few to tell whether the bound p99=15ms is held: it takes 100"));
  OfferedLoad late = load_of(1000, 0);
  for (int i = 0; i < 100; ++i) late.lateness.add(i < 90 ? 1000 : 6'000'000);
  EXPECT_THAT(reason_of(late, bound, {1000, 2e6, 21e6}), HasSubstr("issued late, by 6 ms"));
  EXPECT_THAT(reason_of({}, bound, {1000, 2e6, 21e6}), HasSubstr("p99 latency")) << "a closed loop has a bound too";
}

TEST(LoadVerdict, TooFewQueriesAreNoMiss) {
  const auto bound = parse_latency_bound("p99=15ms");
  EXPECT_EQ(judge_load({}, bound, {99, 2e6, 3e6, 0}).verdict, Verdict::undecided);
  EXPECT_EQ(judge_load({}, bound, {99, 2e6, 16e6, 1}).verdict, Verdict::undecided) << "one of a hundred may miss";
  EXPECT_EQ(judge_load({}, bound, {0, 0, 0, 0}).verdict, Verdict::undecided);
  EXPECT_EQ(judge_load({}, bound, {100, 2e6, 15e6, 1}).verdict, Verdict::valid);
}

TEST(LoadVerdict, ButMoreMissesThanEnoughQueriesMayHaveAreOne) {
  const auto bound = parse_latency_bound("p99=15ms");
  EXPECT_EQ(judge_load({}, bound, {40, 2e6, 16e6, 2}).verdict, Verdict::invalid);
  EXPECT_THAT(reason_of({}, bound, {40, 2e6, 16e6, 2}), HasSubstr("2 of 40 queries took longer than 15 ms"));
  EXPECT_THAT(reason_of({}, bound, {2, 16e6, 17e6, 2}), HasSubstr("even the fastest query took 16 ms"));
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
