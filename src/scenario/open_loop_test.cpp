// Every scenario with a schedule, in virtual time: times are exact.
#include "scenario/open_loop.h"

#include "base/temporary_folder.h"
#include "scenario/fake_target.h"
#include "scenario/test_drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace deepgap {
namespace {

using testing::HasSubstr;
constexpr Nanoseconds ms = 1'000'000, second = 1'000 * ms;

TEST(OpenScenarios, AreRegistered) {
  EXPECT_THAT(Registry<Scenario>::instance().names(),
              testing::IsSupersetOf({"multi-stream", "offline", "server", "constant", "trace", "bursty", "concurrency"}));
}

TEST(Constant, QueriesAreIssuedWhenTheyAreDue) {
  Driven run;
  ScriptedTarget target(*run.clock, {2, 4}, [](uint64_t) { return 30 * ms; });
  run.drive(target, "constant", 2, lasting(second), {{"rate", "10"}});
  ASSERT_EQ(run.kept.timings.size(), 10u) << "0, 100, ... 900 ms; the one at 1 s is not of this second";
  for (size_t i = 0; i < 10; ++i) {
    const Timing& timing = run.kept.timings[i];
    EXPECT_EQ(timing.query, i);
    EXPECT_EQ(timing.scheduled, static_cast<Nanoseconds>(i) * 100 * ms);
    EXPECT_EQ(timing.begin, timing.scheduled);
    EXPECT_EQ(timing.end, timing.begin + 30 * ms);
    EXPECT_EQ(timing.samples, 2u);
  }
  EXPECT_EQ(target.most_in_flight, 1);
  EXPECT_EQ(run.offered.length, second);
  EXPECT_EQ(run.offered.offered, 10);
  EXPECT_EQ(run.offered.finished_in_time, 10);
  EXPECT_EQ(run.offered.waiting, 0);
  EXPECT_EQ(run.offered.lateness.most(), 0);
}

// No coordinated omission: one query takes a second, and the queries that come meanwhile show it.
TEST(Constant, LatencyCountsFromTheScheduledTime) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t n) { return n == 50 ? 200 * ms : ms; });
  run.drive(target, "constant", 1, lasting(10 * second), {{"rate", "100"}});
  ASSERT_EQ(run.kept.timings.size(), 1000u);
  std::vector<Nanoseconds> latencies;
  for (const Timing& timing : run.kept.timings) {
    latencies.push_back(timing.end - timing.scheduled);
    EXPECT_GE(timing.begin, timing.scheduled);
  }
  EXPECT_EQ(latencies[50], 200 * ms);
  for (int i = 1; i < 20; ++i) EXPECT_EQ(latencies[50 + static_cast<size_t>(i)], (200 - 9 * i) * ms) << i;
  EXPECT_EQ(run.offered.lateness.most(), 0) << "they waited for the target, not for the harness";
}

// Serves for 4 ms. After the numbered answer it does not come back for `stall`; with number 0 after any.
struct Stalling final : Target {
  Stalling(Clock& c, Nanoseconds s, int n) : clock(c), stall(s), number(n) {}
  TargetLimits limits() const override { return {1, 1}; }
  void on_completion(TargetCompletion done) override { completion = std::move(done); }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    const Completed done{queries[0].id, 0, 1};
    pass(4 * ms);
    completion(std::span(&done, 1));
    if (++count == number || number == 0) pass(stall);
  }
  void pass(Nanoseconds time) {
    const Nanoseconds end = clock.now() + time;
    while (clock.now() < end) clock.wait_until(end);
  }
  void flush() override {}
  void cancel() override {}
  Clock& clock;
  Nanoseconds stall;
  int number, count = 0;
  TargetCompletion completion;
};

// The issuing thread is held up for 50 ms: the queries that were due meanwhile are late by what is left of it, and so are those that
// have to wait behind them, for as long as they would not have had to wait otherwise.
TEST(Constant, LatenessIsWhatTheHarnessAdds) {
  Driven run;
  Stalling target(*run.clock, 50 * ms, 10);
  run.drive(target, "constant", 1, lasting(2 * second), {{"rate", "100"}});
  EXPECT_EQ(run.kept.timings.size(), 200u);
  // Query 10 is due at 100 ms and issued at 90 + 4 + 50 = 144 ms; each one after it catches up by 10 - 4 ms.
  EXPECT_EQ(run.offered.lateness.most(), 44 * ms);
  EXPECT_NEAR(run.offered.lateness.percentile(96.5), 2e6, 2e3) << "44, 38, ... 2 ms: 8 queries of 200";
  EXPECT_EQ(run.offered.lateness.percentile(96), 0);
}

// A backlog is the Target's doing or the issuing thread's.
TEST(Constant, ABacklogSaysWhoseItIs) {
  for (const bool harness : {false, true}) {
    Driven run;
    Stalling target(*run.clock, harness ? 20 * ms : 0, 0);
    run.drive(target, "constant", 1, lasting(2 * second), {{"rate", harness ? "100" : "500"}});
    EXPECT_GT(run.offered.waiting, 100) << harness;
    EXPECT_EQ(run.offered.issuer_was_late, harness);
  }
}

TEST(Server, IssuesAPoissonProcessOfItsSeed) {
  const auto scheduled = [](const std::string& seed) {
    Driven run;
    ScriptedTarget target(*run.clock, {1, 64}, [](uint64_t) { return ms; });
    run.drive(target, "server", 1, lasting(20 * second), {{"rate", "500"}, {"seed", seed}});
    std::vector<Nanoseconds> times;
    for (const Timing& timing : run.kept.timings) times.push_back(timing.scheduled);
    return times;
  };
  const auto times = scheduled("1");
  EXPECT_NEAR(static_cast<double>(times.size()), 10'000, 4.9 * 100);
  EXPECT_EQ(times, scheduled("1"));
  EXPECT_NE(times, scheduled("2"));
  PoissonArrivals arrivals(500, 1);
  for (const Nanoseconds time : times) EXPECT_EQ(time, arrivals.next());
  EXPECT_GE(arrivals.next(), 20 * second) << "everything that is due in the window is issued";
}

// Queries before the window are issued and not reported, and the window is as long as without them.
TEST(Server, QueriesThatLeadToTheWindowAreNotOfIt) {
  Driven run;
  int begun = 0;
  Nanoseconds begun_at = 0;
  run.lead = 2 * second;
  run.on_window = [&] {
    ++begun;
    begun_at = run.clock->now();
  };
  ScriptedTarget target(*run.clock, {1, 4}, [](uint64_t) { return 30 * ms; });
  run.drive(target, "constant", 1, lasting(10 * second), {{"rate", "10"}});
  EXPECT_EQ(target.asked.size(), 120u);
  ASSERT_EQ(run.kept.timings.size(), 100u);
  EXPECT_EQ(run.kept.timings.front().scheduled, 2 * second);
  EXPECT_EQ(run.kept.timings.back().scheduled, 11'900 * ms);
  EXPECT_EQ(run.offered.length, 10 * second);
  EXPECT_EQ(run.offered.offered, 100);
  EXPECT_EQ(run.offered.finished_in_time, 100);
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(begun_at, 2 * second);
}

// One that answers after the window has begun, but was due before.
TEST(Server, AQueryThatWasDueBeforeTheWindowIsNotOfIt) {
  Driven run;
  run.lead = second;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t n) { return n == 9 ? 120 * ms : 10 * ms; });
  run.drive(target, "constant", 1, lasting(10 * second), {{"rate", "10"}});
  EXPECT_EQ(run.kept.timings.size(), 100u);
  EXPECT_EQ(run.kept.timings.front().scheduled, second);
  EXPECT_EQ(run.kept.timings.front().begin, 1020 * ms) << "it waited for that one: the queue is carried over";
}

// A load that is far too high: were those that wait not put off, nothing of the window would ever be answered.
TEST(Server, AnOverloadIsToldAsWithoutALead) {
  Driven run;
  run.lead = 2 * second;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t) { return 100 * ms; });
  run.drive(target, "constant", 1, lasting(10 * second), {{"rate", "1000"}});
  EXPECT_EQ(run.kept.timings.front().scheduled, 2 * second);
  EXPECT_NEAR(static_cast<double>(run.kept.timings.size()), 100, 2);
  EXPECT_NEAR(static_cast<double>(run.offered.finished_in_time), 100, 2);
  EXPECT_EQ(run.offered.length, 10 * second);
  EXPECT_EQ(run.offered.offered, 10'000);
  EXPECT_GT(run.offered.waiting, 9'000);
  EXPECT_LE(run.clock->now(), 12 * second + 200 * ms);
}

// So that one that is measured alone and one beside others, whose windows have no lead, are asked at the same times.
TEST(Server, AWindowHasTheSameArrivalsWithAndWithoutALead) {
  for (const std::string scenario : {"server", "bursty"}) {
    const auto scheduled = [&](Nanoseconds lead) {
      Driven run;
      run.lead = lead;
      ScriptedTarget target(*run.clock, {1, 64}, [](uint64_t) { return ms; });
      ScenarioOptions options{{"rate", "200"}, {"seed", "3"}};
      if (scenario == "bursty") options["bursts"] = "markov";
      run.drive(target, scenario, 1, lasting(10 * second), options);
      std::vector<Nanoseconds> times;
      for (const Timing& timing : run.kept.timings) times.push_back(timing.scheduled - lead);
      EXPECT_TRUE(lead == 0 || target.asked.size() > times.size() + 100) << scenario;
      return times;
    };
    EXPECT_EQ(scheduled(0), scheduled(2 * second)) << scenario;
  }
}

TEST(Server, OnlyWhatComesByChanceHasALead) {
  const auto lead = [](const std::string& scenario, const ScenarioOptions& options, Nanoseconds window) {
    const auto made = Registry<Scenario>::instance().make("scenario", scenario);
    made->parse(options);
    return made->lead(window);
  };
  EXPECT_EQ(lead("server", {{"rate", "10"}}, 10 * second), 2 * second);
  EXPECT_EQ(lead("server", {{"rate", "10"}}, 1000 * second), 10 * second);
  EXPECT_EQ(lead("server", {{"rate", "10"}}, never), 0) << "a window that ends by a count";
  EXPECT_EQ(lead("bursty", {{"rate", "10"}, {"bursts", "markov"}}, 10 * second), 2 * second);
  EXPECT_EQ(lead("bursty", {{"rate", "10"}}, 10 * second), 0) << "as many bursts as fit, from the first";
  EXPECT_EQ(lead("constant", {{"rate", "10"}}, 10 * second), 0);
  EXPECT_EQ(lead("burst", {}, 10 * second), 0);
  EXPECT_EQ(lead("concurrency", {{"clients", "2"}}, 10 * second), 0);
}

// An M/M/1 queue at 0.9 whose windows are short: without a lead their waits are far below those of the long run.
TEST(Server, AWindowBeginsWithAQueue) {
  const auto mean_wait = [](Nanoseconds lead) {
    double wait = 0, queries = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
      Driven run;
      run.lead = lead;
      RandomStream random(seed, "service");
      ScriptedTarget target(*run.clock, {1, 1}, [&](uint64_t) { return static_cast<Nanoseconds>(5e6 * random.exponential()); });
      run.drive(target, "server", 1, lasting(second), {{"rate", "180"}, {"seed", std::to_string(seed)}});
      for (const Timing& timing : run.kept.timings) wait += static_cast<double>(timing.begin - timing.scheduled) / 1e6;
      queries += static_cast<double>(run.kept.timings.size());
    }
    return wait / queries;
  };
  constexpr double stationary = 0.9 / 0.1 * 5;  // ms: rho s / (1 - rho)
  EXPECT_LT(mean_wait(0), 0.75 * stationary);
  EXPECT_NEAR(mean_wait(10 * second), stationary, 0.15 * stationary);
}

// An M/D/1 queue: the mean wait is rho s / (2 (1 - rho)), by Pollaczek and Khinchine.
TEST(Server, QueuesAsTheoryHasIt) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t) { return ms; });
  run.drive(target, "server", 1, lasting(1000 * second), {{"rate", "500"}});
  double wait = 0;
  for (const Timing& timing : run.kept.timings) wait += static_cast<double>(timing.begin - timing.scheduled);
  wait /= static_cast<double>(run.kept.timings.size());
  EXPECT_NEAR(wait / 1e6, 0.5, 0.015);
  EXPECT_EQ(run.offered.waiting, 0);
}

TEST(Server, AnOverloadedTargetEndsInTimeWithItsBacklogCounted) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 2}, [](uint64_t) { return 10 * ms; });
  run.drive(target, "server", 1, lasting(10 * second), {{"rate", "1000"}});
  EXPECT_EQ(target.most_in_flight, 2);
  EXPECT_LE(run.clock->now(), 10 * second + 10 * ms);
  EXPECT_NEAR(static_cast<double>(run.offered.offered), 10'000, 490);
  EXPECT_NEAR(static_cast<double>(run.offered.finished_in_time), 2000, 4);
  EXPECT_EQ(run.offered.waiting, run.offered.offered - static_cast<int64_t>(run.kept.timings.size()));
  EXPECT_NEAR(static_cast<double>(run.offered.oldest_wait), 8e9, 1e8);
  EXPECT_FALSE(run.offered.issuer_was_late);
  EXPECT_EQ(target.in_flight, 0);
}

TEST(Server, AMonstrousRateEndsTooAndIsCountedUpToALimit) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t) { return 100 * ms; });
  run.drive(target, "server", 1, lasting(second), {{"rate", "1e9"}});
  EXPECT_EQ(run.offered.waiting, most_waiting_counted);
  EXPECT_EQ(run.kept.timings.size(), 10u);
}

// 1 % more than the target can do: no single wait is long by the end of a short window, and nothing may be left out.
TEST(Server, WhatIsDueAtTheEndIsFinishedAndCounted) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t) { return 10 * ms; });
  run.drive(target, "constant", 1, lasting(10 * second), {{"rate", "101"}});
  EXPECT_EQ(run.kept.timings.size(), 1010u);
  EXPECT_EQ(run.offered.offered, 1010);
  EXPECT_EQ(run.offered.waiting, 0);
  EXPECT_EQ(run.offered.finished_in_time, 1000);
}

// One stall just before the end: the queue is long, but it did not grow before that, and all of it is finished and counted.
TEST(Server, AQueueThatIsLongByChanceIsFinishedAndIsNoOverload) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t n) { return n == 895 ? 950 * ms : 5 * ms; });
  run.drive(target, "constant", 1, lasting(10 * second), {{"rate", "100"}});
  EXPECT_EQ(run.kept.timings.size(), 1000u);
  EXPECT_EQ(run.offered.waiting, 0);
  Driven longer;
  ScriptedTarget stalls(*longer.clock, {1, 1}, [](uint64_t n) { return n == 895 ? 1600 * ms : 5 * ms; });
  longer.drive(stalls, "constant", 1, lasting(10 * second), {{"rate", "100"}});
  EXPECT_EQ(longer.kept.timings.size(), 1000u) << "for as long as the window, where it takes that";
  EXPECT_EQ(longer.offered.waiting, 0);
  EXPECT_TRUE(longer.offered.has_long_wait());
}

TEST(Server, ATargetThatFallsAsleepWhileItFinishesIsGivenUp) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t n) { return n < 990 ? 10 * ms : 700 * ms; });
  run.drive(target, "constant", 1, lasting(10 * second), {{"rate", "100"}});
  EXPECT_GT(run.offered.waiting, 0);
  EXPECT_LE(run.clock->now(), 12 * second);
}

TEST(Server, CountsEndTheOfferingAndWhatIsDueThenIsCounted) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 4}, [](uint64_t) { return 25 * ms; });
  run.drive(target, "constant", 1, counts(50), {{"rate", "100"}});
  EXPECT_EQ(run.kept.timings.size(), 52u) << "the two in flight when the 50th was answered";
  EXPECT_EQ(target.asked.size(), 52u);
}

TEST(Server, NoWarmupSubmitsNothing) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t) { return 10; });
  run.drive_no_warm_up(target, "constant", {{"rate", "10"}});
  EXPECT_TRUE(target.asked.empty());
}

TEST(Server, InterruptionEndsItAndWaits) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 4}, [&run](uint64_t n) {
    if (n == 10) run.interrupted = true;
    return 50 * ms;
  });
  run.drive(target, "server", 1, lasting(100 * second), {{"rate", "100"}});
  EXPECT_LE(run.kept.timings.size(), 11u);
  EXPECT_EQ(target.in_flight, 0);
  EXPECT_EQ(target.cancels, 1);
}

TEST(Server, AFailureEndsTheRunWithItsReason) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 2}, [](uint64_t) { return 10; });
  target.failing = {3};
  EXPECT_EQ(error_of([&] { run.drive(target, "server", 1, lasting(second), {{"rate", "100"}}); }), "the scripted failure");
}

TEST(Offline, QueriesAreOfTheBatchAskedForAndAllDueAtOnce) {
  Driven run;
  ScriptedTarget target(*run.clock, {INT32_MAX, 4}, [](uint64_t) { return 10 * ms; });  // a Dispatcher takes queries of any size
  run.drive(target, "offline", 64, lasting(never), {{"total_samples", "1000"}});
  ASSERT_EQ(run.kept.timings.size(), 16u);
  EXPECT_EQ(target.most_in_flight, 4);
  int64_t samples = 0;
  for (const Timing& timing : run.kept.timings) {
    EXPECT_EQ(timing.scheduled, 0);
    samples += timing.samples;
  }
  EXPECT_EQ(samples, 1000);
  EXPECT_EQ(target.asked.back().size(), 1000u - 15 * 64);
  EXPECT_EQ(run.clock->now(), 40 * ms);
}

TEST(Offline, WithoutATotalItsStoppingDecides) {
  Driven run;
  ScriptedTarget target(*run.clock, {8, 3}, [](uint64_t) { return 10 * ms; });
  run.drive(target, "offline", 8, counts(100));
  EXPECT_EQ(run.kept.timings.size(), 100u);
  EXPECT_EQ(run.offered.length, 0) << "no rate was offered";
}

// A query of 5 ms every 4: the next one is due 8 ms after the one before, and latency counts from when it was due.
TEST(MultiStream, AtAPeriodALateQuerySkipsOne) {
  Driven run;
  ScriptedTarget target(*run.clock, {8, 4}, [](uint64_t query) { return (query == 1 ? 5 : 1) * Nanoseconds{1'000'000}; });
  run.drive(target, "multi-stream", 8, counts(4), {{"period", "4ms"}});
  ASSERT_EQ(run.kept.timings.size(), 4U);
  std::vector<Nanoseconds> scheduled, latencies;
  for (const Timing& timing : run.kept.timings) {
    scheduled.push_back((timing.scheduled - run.kept.timings[0].scheduled) / 1'000'000);
    latencies.push_back((timing.end - timing.scheduled) / 1'000'000);
  }
  EXPECT_EQ(scheduled, (std::vector<Nanoseconds>{0, 4, 12, 16}));
  EXPECT_EQ(latencies, (std::vector<Nanoseconds>{1, 5, 1, 1}));
  EXPECT_EQ(target.most_in_flight, 1);
}

TEST(MultiStream, IsSeveralSamplesAtATime) {
  Driven run;
  ScriptedTarget target(*run.clock, {8, 4}, [](uint64_t) { return 10 * ms; });
  run.drive(target, "multi-stream", 8, counts(10));
  EXPECT_EQ(target.most_in_flight, 1);
  EXPECT_EQ(target.asked[0].size(), 8u);
  EXPECT_THAT(error_of([&] { run.drive(target, "multi-stream", 1, counts(1)); }), HasSubstr("--batch 8"));
}

TEST(Trace, IssuesAtTheTimesOfTheFileAndEndsWithIt) {
  const TemporaryFolder folder;
  const std::string path = folder / "trace.txt";
  std::ofstream(path) << "10.0\n10.1\n10.1\n12\n";
  Driven run;
  ScriptedTarget target(*run.clock, {1, 4}, [](uint64_t) { return ms; });
  run.drive(target, "trace", 1, lasting(never), {{"trace", path}});
  std::vector<Nanoseconds> times;
  for (const Timing& timing : run.kept.timings) times.push_back(timing.scheduled);
  EXPECT_THAT(times, testing::ElementsAre(0, 100 * ms, 100 * ms, 2 * second));
  EXPECT_EQ(run.offered.length, 2 * second);
  EXPECT_EQ(run.offered.waiting, 0);
}

TEST(Bursty, IssuesInBurstsAtItsMeanRate) {
  for (const std::string bursts : {"fixed", "markov"}) {
    Driven run;
    ScriptedTarget target(*run.clock, {1, 64}, [](uint64_t) { return ms; });
    run.drive(target, "bursty", 1, lasting(1000 * second), {{"rate", "20"}, {"bursts", bursts}});
    EXPECT_NEAR(static_cast<double>(run.kept.timings.size()), 20'000, 2000) << bursts;
    int64_t close = 0;
    for (size_t i = 1; i < run.kept.timings.size(); ++i)
      close += run.kept.timings[i].scheduled - run.kept.timings[i - 1].scheduled < 30 * ms ? 1 : 0;
    EXPECT_GT(close, 13'000) << "of a Poisson process of that rate 9,000 would be";
  }
}

TEST(OpenScenarios, SenselessSettingsAreErrors) {
  const auto complaint = [](const std::string& scenario, const ScenarioOptions& options) {
    return error_of([&] { Registry<Scenario>::instance().make("scenario", scenario)->parse(options); });
  };
  for (const std::string scenario : {"server", "constant", "bursty"}) {
    EXPECT_THAT(complaint(scenario, {}), HasSubstr("--rate"));
    for (const std::string rate : {"0", "-5", "inf", "nan", "-inf", "x", "", "1e10", "5/s"})
      EXPECT_THAT(complaint(scenario, {{"rate", rate}}), HasSubstr("'" + rate + "' for rate")) << scenario;
    EXPECT_THAT(complaint(scenario, {{"rate", "5"}, {"in_flight", "0"}}), HasSubstr("'0' for in_flight"));
  }
  EXPECT_THAT(complaint("server", {{"rate", "5"}, {"seed", "-1"}}), HasSubstr("'-1' for seed"));
  EXPECT_THAT(complaint("bursty", {{"rate", "5"}, {"bursts", "poisson"}}), HasSubstr("expected fixed or markov"));
  EXPECT_THAT(complaint("bursty", {{"rate", "5"}, {"burst_time", "0s"}}), HasSubstr("'0s' for burst_time"));
  EXPECT_THAT(complaint("bursty", {{"rate", "5"}, {"pause_share", "2"}}), HasSubstr("'2' for pause_share"));
  EXPECT_THAT(complaint("concurrency", {}), HasSubstr("--clients"));
  EXPECT_THAT(complaint("concurrency", {{"clients", "0"}}), HasSubstr("'0' for clients"));
  EXPECT_THAT(complaint("concurrency", {{"clients", "2"}, {"think_time", "5"}}), HasSubstr("'5' for think_time"));
  EXPECT_THAT(complaint("trace", {}), HasSubstr("--trace FILE"));
  EXPECT_THAT(complaint("trace", {{"trace", "/nowhere"}}), HasSubstr("cannot read"));
  EXPECT_THAT(complaint("trace", {{"trace", "/dev/null"}}), HasSubstr("no arrival"));
  EXPECT_THAT(complaint("offline", {{"total_samples", "0"}}), HasSubstr("'0' for total_samples"));
}

// Under TSan this shows that completion threads and the loop share nothing unguarded.
TEST(Threads, EveryScenarioWithCompletionsFromManyThreads) {
  const TemporaryFolder folder;
  const std::string path = folder / "trace.txt";
  std::ofstream trace(path);
  for (int i = 0; i < 500; ++i) trace << i * 100'000 << "\n";
  trace.close();
  const std::vector<std::pair<std::string, ScenarioOptions>> scenarios{{"server", {{"rate", "20000"}}},
                                                                       {"constant", {{"rate", "20000"}}},
                                                                       {"bursty", {{"rate", "20000"}}},
                                                                       {"trace", {{"trace", path}, {"trace_unit", "ns"}}},
                                                                       {"burst", {{"interval", "5ms"}, {"size", "100"}}},
                                                                       {"batch", {}},
                                                                       {"single-stream", {}},
                                                                       {"offline", {{"total_samples", "5000"}}},
                                                                       {"multi-stream", {}},
                                                                       {"concurrency", {{"clients", "16"}, {"think_time", "50us"}}}};
  for (const std::string& name : Registry<Scenario>::instance().names()) {
    EXPECT_TRUE(std::any_of(scenarios.begin(), scenarios.end(), [&](const auto& row) { return row.first == name; }))
        << name << " has no row";
  }
  for (const auto& [scenario, options] : scenarios) {
    Driven run;
    run.clock = make_real_clock();
    ThreadedTarget target({2, 8}, 3);
    run.drive(target, scenario, scenario == "single-stream" ? 1 : 2, lasting(100 * ms), options);
    EXPECT_GT(run.kept.timings.size(), 10u) << scenario;
    std::vector<uint64_t> queries;
    for (const Timing& timing : run.kept.timings) {
      queries.push_back(timing.query);
      EXPECT_LE(timing.scheduled, timing.begin) << scenario;
      EXPECT_LE(timing.begin, timing.end) << scenario;
    }
    std::sort(queries.begin(), queries.end());
    EXPECT_EQ(std::adjacent_find(queries.begin(), queries.end()), queries.end()) << scenario << ": a query was recorded twice";
  }
}

}  // namespace
}  // namespace deepgap
