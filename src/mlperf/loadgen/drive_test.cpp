// The driver and its verdict in virtual time, against scripted Targets. tests/interop/loadgen compares both with LoadGen.
#include "mlperf/loadgen/drive.h"

#include "mlperf/loadgen/test_settings.h"
#include "mlperf/loadgen/verdict.h"

#include "base/clocks.h"
#include "scenario/fake_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace deepgap {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds ms = 1'000'000;
const std::atomic<bool> not_interrupted{false};

LoadgenSettings base(LoadgenScenario scenario) {
  LoadgenSettings settings = small_run(scenario);
  settings.min_duration_ms = 1000;
  settings.target_qps = 1000;
  settings.expected_latency_ns = ms;
  settings.samples_per_query = 4;
  settings.target_latency_ns = 5 * ms;
  return settings;
}

// A run on a scripted Target in virtual time.
struct Driven {
  explicit Driven(const LoadgenSettings& chosen) : settings(chosen) {}

  LoadgenSettings settings;
  TargetLimits limits{8, 1000};
  std::function<Nanoseconds(uint64_t)> latency = [](uint64_t) { return 2 * ms; };
  bool inside_submit = false;
  int64_t tokens = 0;
  LoadgenAnswer answer;
  LoadgenObserver* observer = nullptr;

  std::unique_ptr<Clock> clock = make_virtual_clock();
  std::unique_ptr<ScriptedTarget> target;
  std::vector<LoadgenPhaseResult> results;
  LoadgenVerdict verdict;

  void go() {
    target = std::make_unique<ScriptedTarget>(*clock, limits, latency);
    target->inside_submit = inside_submit;
    target->tokens = tokens;
    target->first_token = ms;
    results = drive_loadgen({settings, target.get(), clock.get(), observer, answer}, not_interrupted);
    if (settings.mode != LoadgenMode::accuracy) verdict = judge(settings, results.back());
  }
};

TEST(LoadgenDrive, ServerIssuesOnTimeAndCountsFromThen) {
  Driven run(base(LoadgenScenario::server));
  run.go();
  LoadgenSchedule schedule(run.settings);
  const LoadgenSet* set = schedule.next_set();
  ASSERT_NE(set, nullptr);
  std::vector<std::vector<uint32_t>> expected;
  LoadgenSample sample;
  while (schedule.next_query() != nullptr) {
    schedule.next_samples(std::span(&sample, 1));
    expected.push_back({sample.index});
  }
  EXPECT_TRUE(run.target->asked == expected);
  EXPECT_EQ(run.results.size(), 1U);
  EXPECT_EQ(run.verdict.sample.min_ns, 2 * ms);
  EXPECT_EQ(run.verdict.sample.max_ns, 2 * ms);
  EXPECT_TRUE(run.verdict.valid);
  EXPECT_NEAR(*run.verdict.completed_per_s, 1000, 100);
}

// The first of five tokens after 1 ms, the last after 9.
Driven generating(LoadgenScenario scenario) {
  Driven run(base(scenario));
  run.settings.token_latencies = true;
  run.settings.target_latency_ns = 0;  // which no longer counts
  run.settings.ttft_latency_ns = 1 * ms;
  run.settings.tpot_latency_ns = 2 * ms;
  run.limits = {1, 1000};
  run.latency = [](uint64_t) { return 9 * ms; };
  run.tokens = 5;
  return run;
}

TEST(LoadgenDrive, TokensAreTimed) {
  for (const LoadgenScenario scenario : {LoadgenScenario::server, LoadgenScenario::single_stream, LoadgenScenario::offline}) {
    Driven run = generating(scenario);
    run.go();
    ASSERT_TRUE(run.verdict.tokens) << name_of(scenario);
    EXPECT_EQ(run.verdict.tokens->count, 5 * run.verdict.samples);
    EXPECT_EQ(run.verdict.tokens->first.max_ns, scenario == LoadgenScenario::offline ? 0 : 1 * ms);
    EXPECT_EQ(run.verdict.tokens->each.max_ns, scenario == LoadgenScenario::offline ? 0 : 2 * ms);
    EXPECT_TRUE(run.verdict.latency_met) << name_of(scenario);
    EXPECT_TRUE(run.results[0].errors.empty());
  }
}

TEST(LoadgenDrive, LateTokensAreNotWithinTheirBounds) {
  Driven first = generating(LoadgenScenario::server), later = generating(LoadgenScenario::server);
  first.settings.ttft_latency_ns = ms - 1;
  later.settings.tpot_latency_ns = 2 * ms - 1;
  first.go();
  later.go();
  EXPECT_THAT(first.verdict.reasons.front(), HasSubstr("p99 time to first token is "));
  EXPECT_THAT(later.verdict.reasons.front(), HasSubstr("p99 time per output token is "));
  EXPECT_FALSE(first.verdict.early_stopping_met);
  EXPECT_FALSE(later.verdict.early_stopping_met);
}

TEST(LoadgenDrive, AnAnswerOfOneTokenIsAnError) {
  Driven run = generating(LoadgenScenario::single_stream);
  run.tokens = 1;
  run.go();
  ASSERT_FALSE(run.results[0].errors.empty());
  EXPECT_THAT(run.results[0].errors.front(), HasSubstr("one token"));
}

TEST(LoadgenDrive, WhatTheTargetCannotTakeYetWaitsAndTheWaitCounts) {
  Driven run(base(LoadgenScenario::server));
  run.limits = {1, 1};  // 500 a second at most
  run.go();
  EXPECT_EQ(run.target->most_in_flight, 1);
  EXPECT_GT(run.verdict.sample.max_ns, 500 * ms);
  EXPECT_FALSE(run.verdict.valid);
  EXPECT_FALSE(run.verdict.latency_met);
  EXPECT_THAT(run.verdict.reasons.front(), HasSubstr("lower target_qps"));
}

TEST(LoadgenDrive, TooManyOutstandingQueriesEndIt) {
  Driven run(base(LoadgenScenario::server));
  run.limits = {1, 1};
  run.settings.max_async_queries = 20;
  run.go();
  ASSERT_EQ(run.results[0].errors.size(), 1U);
  EXPECT_THAT(run.results[0].errors[0], HasSubstr("21 queries are outstanding"));
  EXPECT_FALSE(run.verdict.min_duration_met);
}

TEST(LoadgenDrive, DueQueriesAreHandedOverTogetherWhenAsked) {
  Driven run(base(LoadgenScenario::server));
  run.settings.coalesce_queries = true;
  run.settings.target_qps = 1e6;
  run.settings.min_duration_ms = 1;
  run.go();
  EXPECT_EQ(run.verdict.samples, static_cast<int64_t>(run.target->asked.size()));
}

TEST(LoadgenDrive, SingleStreamSendsTheNextWhenTheLastIsBack) {
  for (const bool inside : {false, true}) {
    Driven run(base(LoadgenScenario::single_stream));
    run.inside_submit = inside;
    run.settings.min_duration_ms = inside ? 0 : 1000;
    run.settings.min_query_count = 70;
    run.go();
    EXPECT_EQ(run.target->most_in_flight, 1);
    EXPECT_TRUE(run.results[0].ended_naturally);
    EXPECT_EQ(run.results[0].queries, inside ? 70 : 501);  // the one that is issued at 1000 ms ends it
    EXPECT_TRUE(run.verdict.valid);
    EXPECT_EQ(run.verdict.early_stopping_90_ns, inside ? 0 : 2 * ms);
    EXPECT_THAT(run.verdict.early_stopping, HasSubstr("Processed at least 64 queries"));
  }
}

TEST(LoadgenDrive, SingleStreamRunsOutWhereTheExpectedLatencyIsTooLong) {
  Driven run(base(LoadgenScenario::single_stream));
  run.settings.expected_latency_ns = 100 * ms;
  run.go();
  EXPECT_FALSE(run.results[0].ended_naturally);
  EXPECT_EQ(run.results[0].queries, run.results[0].generated.queries);
  EXPECT_THAT(run.results[0].errors.at(0), HasSubstr("lower target_latency"));
  EXPECT_FALSE(run.verdict.min_duration_met);
}

TEST(LoadgenDrive, MultiStreamCountsToTheLastPiece) {
  Driven run(base(LoadgenScenario::multi_stream));
  run.settings.min_query_count = 662;
  run.limits = {3, 2};
  run.latency = [](uint64_t piece) { return piece % 2 == 0 ? 1 * ms : 3 * ms; };
  run.go();
  EXPECT_EQ(run.verdict.samples, run.results[0].queries * 4);
  EXPECT_EQ(run.verdict.query.min_ns, 3 * ms);
  EXPECT_EQ(run.verdict.sample.min_ns, 1 * ms);
  EXPECT_EQ(run.verdict.early_stopping_99_ns, 3 * ms);
  for (const auto& piece : run.target->asked) EXPECT_LE(piece.size(), 3U);
}

TEST(LoadgenDrive, OfflineIsOneQueryInPieces) {
  Driven run(base(LoadgenScenario::offline));
  run.limits = {8, 2};
  run.go();
  EXPECT_EQ(run.results[0].queries, 1);
  EXPECT_EQ(run.verdict.samples, 1100);  // a tenth more than the rate needs
  EXPECT_EQ(run.target->asked.size(), 138U);
  EXPECT_EQ(run.verdict.sample.max_ns, 69 * 2 * ms);
  EXPECT_FALSE(run.verdict.min_duration_met);
  EXPECT_NEAR(*run.verdict.samples_per_s, 1100 / 0.138, 0.1);
}

TEST(LoadgenDrive, EarlyStoppingNeedsQueries) {
  Driven run(base(LoadgenScenario::single_stream));
  run.settings.min_duration_ms = 0;
  run.go();
  EXPECT_EQ(run.results[0].queries, 50);
  EXPECT_FALSE(run.verdict.early_stopping_met);
  EXPECT_THAT(run.verdict.reasons.at(0), HasSubstr("at least 64 queries"));
}

class Watcher final : public LoadgenObserver {
 public:
  void on_phase(LoadgenMode mode) override { phases.push_back(mode); }
  void on_set(const LoadgenSet&) override { ++sets; }
  void on_sample(const LoadgenFinishedSample& sample) override {
    if (sample.logged) answers[sample.sequence] = std::to_string(sample.index) + ":" + std::string(sample.answer);
  }
  std::vector<LoadgenMode> phases;
  int sets = 0;
  std::map<uint64_t, std::string> answers;
};

TEST(LoadgenDrive, SubmissionLogsEveryAnswerOfAccuracyAndNoneOfPerformance) {
  for (const LoadgenScenario scenario : {LoadgenScenario::server, LoadgenScenario::offline}) {
    Watcher watcher;
    Driven run(base(scenario));
    run.settings.mode = LoadgenMode::submission;
    run.observer = &watcher;
    run.answer = [](std::span<const TensorView>, size_t row) { return "row" + std::to_string(row); };
    run.go();
    EXPECT_EQ(watcher.phases, (std::vector{LoadgenMode::accuracy, LoadgenMode::performance}));
    EXPECT_EQ(watcher.sets, 5);  // 100 samples, 30 at a time, and the performance set
    EXPECT_EQ(run.results.size(), 5U);
    EXPECT_EQ(watcher.answers.size(), 100U);
    for (const auto& [sequence, answer] : watcher.answers) EXPECT_THAT(answer, HasSubstr(":row"));
  }
}

TEST(LoadgenDrive, Test01LogsAboutAsManyAnswersAsAsked) {
  Watcher watcher;
  Driven run(base(LoadgenScenario::server));
  run.settings.accuracy_log_rng_seed = 720381539243781796U;
  run.settings.accuracy_log_sampling_target = 200;
  run.observer = &watcher;
  run.answer = [](std::span<const TensorView>, size_t) { return "x"; };
  run.go();
  EXPECT_NEAR(static_cast<double>(watcher.answers.size()), 200, 60);
}

// This test is for the thread sanitizer: answers come on three threads, in any order.
TEST(LoadgenDrive, AnswersOnOtherThreads) {
  for (const LoadgenScenario scenario :
       {LoadgenScenario::single_stream, LoadgenScenario::multi_stream, LoadgenScenario::server, LoadgenScenario::offline}) {
    LoadgenSettings settings = base(scenario);
    settings.mode = LoadgenMode::submission;
    settings.min_duration_ms = 50;
    settings.target_qps = 5000;
    const auto clock = make_real_clock();
    ThreadedTarget target({3, 8}, 3);
    Watcher watcher;
    auto results = drive_loadgen({settings, &target, clock.get(), &watcher, [](auto, size_t) { return "x"; }}, not_interrupted);
    // MultiStream's last queries of a set reach into its padding: 8 of 4 samples for 30, 3 for 10.
    EXPECT_EQ(watcher.answers.size(), scenario == LoadgenScenario::multi_stream ? 108U : 100U);
    EXPECT_GE(judge(settings, results.back()).samples, 50);
  }
}

TEST(LoadgenDrive, AFailureEndsItWithItsReason) {
  const auto clock = make_virtual_clock();
  ScriptedTarget target(*clock, {8, 4}, [](uint64_t) { return ms; });
  target.failing.insert(7);
  const LoadgenSettings settings = base(LoadgenScenario::server);
  EXPECT_THROW(drive_loadgen({.settings = settings, .target = &target, .clock = clock.get()}, not_interrupted), Error);
  EXPECT_EQ(target.cancels, 1);
}

// Completes each query twice.
class StutteringTarget final : public Target {
 public:
  TargetLimits limits() const override { return {8, 4}; }
  void on_completion(TargetCompletion completion) override { completion_ = std::move(completion); }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    for (const Query& query : queries) {
      const Completed done{query.id, 0, static_cast<uint32_t>(query.samples.size())};
      for (int i = 0; i < 2; ++i) completion_(std::span(&done, 1));
    }
  }
  void flush() override {}
  void cancel() override {}

 private:
  TargetCompletion completion_;
};

TEST(LoadgenDrive, AnAnswerThatWasNotAskedForIsAnError) {
  const auto clock = make_virtual_clock();
  StutteringTarget target;
  const LoadgenSettings settings = base(LoadgenScenario::server);
  try {
    drive_loadgen({.settings = settings, .target = &target, .clock = clock.get()}, not_interrupted);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("not in flight"));
  }
}

TEST(LoadgenDrive, AnInterruptEndsIt) {
  const std::atomic<bool> interrupted{true};
  const auto clock = make_virtual_clock();
  ScriptedTarget target(*clock, {8, 4}, [](uint64_t) { return ms; });
  const LoadgenSettings settings = base(LoadgenScenario::single_stream);
  EXPECT_TRUE(drive_loadgen({.settings = settings, .target = &target, .clock = clock.get()}, interrupted).empty());
}

TEST(LoadgenVerdict, TheMeanDoesNotWrap) {
  LoadgenPhaseResult result;
  result.queries = 4;
  result.sample_latency_ns.assign(4, INT64_MAX / 2);
  LoadgenSettings settings = base(LoadgenScenario::offline);
  EXPECT_EQ(judge(settings, result).sample.mean_ns, INT64_MAX / 2);
}

}  // namespace
}  // namespace deepgap
