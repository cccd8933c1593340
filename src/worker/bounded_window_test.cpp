#include "worker/bounded_window.h"
#include "scenario/fake_target.h"
#include "scenario/test_drive.h"
#include "worker/load_verdict.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
constexpr Nanoseconds ms = 1'000'000, second = 1'000 * ms;

// A run of `scenario` under `bound` whose queries of n samples take n * per_sample, as the worker makes it.
struct BoundedRun {
  LatencyBound bound = parse_latency_bound("p99=50ms");
  StoppingSettings settings = lasting(500 * ms);
  std::string scenario = "multi-stream";
  std::map<std::string, std::string> options = {};
  double per_sample_ms = 1.3;
  bool peak_search = true;

  int64_t queries = 0;
  std::string reason = {};

  Verdict verdict(int64_t batch) {
    const auto clock = make_virtual_clock();
    ScriptedTarget target(*clock, {batch, 1},
                          [&](uint64_t) { return static_cast<Nanoseconds>(per_sample_ms * static_cast<double>(batch) * ms); });
    Kept kept;
    const Nanoseconds most = longest_window(settings, bound, peak_search);
    const BoundRule rule = peak_search ? BoundRule::nearest_rank : BoundRule::shown;
    const auto stopping = until_decided(make_stopping(settings), bound, most, rule);
    Traffic traffic{&target, {0}, batch, stopping.get(), &kept};
    traffic.duration = most;
    const std::atomic<bool> interrupted{false};
    const auto made = Registry<Scenario>::instance().make("scenario", scenario);
    made->parse(options);
    made->drive(traffic, *clock, interrupted);
    reason = stopping->reason();
    queries = static_cast<int64_t>(kept.timings.size());
    const auto missed = std::count_if(kept.timings.begin(), kept.timings.end(),
                                      [&](const Timing& timing) { return timing.end - timing.scheduled > bound.limit; });
    const Nanoseconds latency = kept.timings.front().end - kept.timings.front().scheduled;
    return judge_load({}, bound, {queries, static_cast<double>(latency), static_cast<double>(latency), missed}, rule).verdict;
  }
};

// Windows of half a second hold ten queries near the bound of 50 ms: too few for p99, which was taken for a miss at every load.
TEST(BoundedWindow, APeakSearchIsToldTheTruthAtEveryLoad) {
  BoundedRun run;  // 38 samples take 49.4 ms, 39 take 50.7
  for (int64_t load = 2; load <= 80; ++load) EXPECT_EQ(run.verdict(load), load <= 38 ? Verdict::valid : Verdict::invalid) << load;
}

TEST(BoundedWindow, GrowsUntilTheBoundIsDecided) {
  BoundedRun run;
  EXPECT_EQ(run.verdict(38), Verdict::valid);
  EXPECT_EQ(run.queries, 100);
  EXPECT_THAT(run.reason, HasSubstr("100 queries after 4.94 s, for the SLO p99=50ms"));
  EXPECT_EQ(run.verdict(2), Verdict::valid);
  EXPECT_EQ(run.queries, 193) << "there are enough in the window that was asked for";
  EXPECT_EQ(run.verdict(100), Verdict::invalid);
  EXPECT_EQ(run.queries, 4) << "as long as asked; that they miss is known after two";
}

TEST(BoundedWindow, EndsUndecidedWithTheBudget) {
  BoundedRun run;
  run.peak_search = false;
  run.settings.budget = 2 * second;
  EXPECT_EQ(run.verdict(38), Verdict::undecided);
  EXPECT_EQ(run.queries, 41);
}

TEST(BoundedWindow, AloneItMeasuresUntilItIsShown) {
  BoundedRun run;
  run.peak_search = false;
  EXPECT_EQ(run.verdict(38), Verdict::valid);
  EXPECT_EQ(run.queries, 459) << "the early-stopping formula";
  EXPECT_EQ(run.verdict(100), Verdict::invalid);
  EXPECT_EQ(run.queries, 4);
}

// MLPerf v0.5's MultiStream: the largest query that is answered within the time between two of them.
TEST(BoundedWindow, QueriesAtAFixedPeriodAreJudgedByIt) {
  BoundedRun run;
  run.options = {{"period", "50ms"}};
  for (const int64_t load : {2, 20, 37, 38}) {
    EXPECT_EQ(run.verdict(load), Verdict::valid) << load;
    EXPECT_EQ(run.queries, 100) << "every 50 ms, whatever they take";
  }
  EXPECT_EQ(run.verdict(39), Verdict::invalid);
  EXPECT_EQ(run.verdict(100), Verdict::invalid);
}

TEST(BoundedWindow, ClientsAskUntilThereAreEnough) {
  BoundedRun run;
  run.scenario = "concurrency";
  run.options = {{"clients", "3"}, {"think_time", "20ms"}};
  EXPECT_EQ(run.verdict(10), Verdict::valid);
  EXPECT_EQ(run.queries, 100);
}

TEST(BoundedWindow, OfASchedulesRateIsKnownBeforeItBegins) {
  const auto grown = [](double rate, const char* bound) {
    StoppingSettings asked = lasting(10 * second);
    return *grown_settings(asked, parse_latency_bound(bound), rate, BoundRule::nearest_rank).duration;
  };
  EXPECT_EQ(grown(20, "p99=50ms"), 10 * second) << "200 queries are enough";
  EXPECT_EQ(grown(10, "p99=50ms"), 15 * second);
  EXPECT_EQ(grown(1, "p99=50ms"), 30 * second) << "the budget";
  EXPECT_EQ(grown(0, "p99=50ms"), 10 * second);
  EXPECT_EQ(*grown_settings(lasting(10 * second), parse_latency_bound("p99=50ms"), 45.9, BoundRule::shown).duration, 15 * second);
  StoppingSettings counted = counts(5);
  EXPECT_EQ(grown_settings(counted, parse_latency_bound("p99=50ms"), 1, BoundRule::shown), counted);
}

}  // namespace
}  // namespace deepgap
