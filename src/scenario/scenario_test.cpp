#include "scenario/scenario.h"

#include "scenario/fake_target.h"
#include "scenario/test_drive.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace deepgap {
namespace {

using testing::HasSubstr;

TEST(Scenarios, AreRegistered) {
  EXPECT_THAT(Registry<Scenario>::instance().names(), testing::IsSupersetOf({"batch", "single-stream"}));
  EXPECT_THAT(Registry<StoppingRule>::instance().names(), testing::IsSupersetOf({"counts", "duration", "interval"}));
  EXPECT_THAT(error_of([] { Registry<Scenario>::instance().make("scenario", "batc"); }), HasSubstr("did you mean 'batch'"));
}

TEST(Batch, QueriesFollowEachOther) {
  Driven run;
  ScriptedTarget target(*run.clock, {8, 1}, [](uint64_t n) { return Nanoseconds(100 + 10 * n); });
  run.drive(target, "batch", 8, counts(5));
  ASSERT_EQ(run.kept.timings.size(), 5u);
  Nanoseconds expected = 0;
  for (size_t i = 0; i < 5; ++i) {
    const Timing& timing = run.kept.timings[i];
    EXPECT_EQ(timing.query, i);
    EXPECT_EQ(timing.samples, 8u);
    EXPECT_EQ(timing.begin, expected);
    EXPECT_EQ(timing.scheduled, timing.begin) << "a closed loop's query is due when it is issued";
    expected += 100 + 10 * static_cast<Nanoseconds>(i);
    EXPECT_EQ(timing.end, expected);
  }
  EXPECT_EQ(target.asked.size(), 5u) << "nothing is submitted beyond what was asked for";
  EXPECT_EQ(target.in_flight, 0);
}

TEST(Batch, CyclesTheSamples) {
  Driven run;
  ScriptedTarget target(*run.clock, {8, 1}, [](uint64_t) { return 100; });
  run.drive(target, "batch", 3, counts(3), {}, 4);
  EXPECT_EQ(target.asked, (std::vector<std::vector<uint32_t>>{{0, 1, 2}, {3, 0, 1}, {2, 3, 0}}));
}

TEST(Batch, BatchLargerThanTheSetRepeatsIt) {
  Driven run;
  ScriptedTarget target(*run.clock, {8, 1}, [](uint64_t) { return 100; });
  run.drive(target, "batch", 5, counts(1), {}, 2);
  EXPECT_EQ(target.asked[0], (std::vector<uint32_t>{0, 1, 0, 1, 0}));
}

TEST(Batch, KeepsSeveralInFlight) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 4}, [](uint64_t n) { return n % 2 == 0 ? 100 : 30; });
  run.drive(target, "batch", 1, counts(20), {{"in_flight", "3"}});
  EXPECT_EQ(target.most_in_flight, 3);
  EXPECT_EQ(run.kept.timings.size(), 20u) << "what completes after the last one that counts is not recorded";
  EXPECT_EQ(target.in_flight, 0) << "but it is waited for";
  EXPECT_TRUE(std::is_sorted(run.kept.timings.begin(), run.kept.timings.end(), [](auto& a, auto& b) { return a.end < b.end; }));
}

TEST(Batch, CompletionInsideSubmit) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 2}, [](uint64_t) { return 0; });
  target.inside_submit = true;
  run.drive(target, "batch", 1, counts(100), {{"in_flight", "2"}});
  EXPECT_EQ(run.kept.timings.size(), 100u);
}

TEST(Batch, AFailureEndsTheRunWithItsReason) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t) { return 10; });
  target.failing = {3};
  EXPECT_EQ(error_of([&] { run.drive(target, "batch", 1, counts(100)); }), "the scripted failure");
  EXPECT_EQ(run.kept.timings.size(), 3u);
  EXPECT_EQ(target.cancels, 1);
}

TEST(Batch, InterruptionEndsItAndWaits) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 2}, [&run](uint64_t n) {
    if (n == 10) run.interrupted = true;
    return 10;
  });
  run.drive(target, "batch", 1, counts(1000), {{"in_flight", "2"}});
  EXPECT_LE(run.kept.timings.size(), 10u);
  EXPECT_EQ(target.in_flight, 0);
  EXPECT_EQ(target.cancels, 1);
}

TEST(Batch, ATargetThatNeverCompletesIsAnErrorInVirtualTime) {
  struct Silent final : Target {
    TargetLimits limits() const override { return {1, 1}; }
    void on_completion(TargetCompletion) override {}
    void load(std::span<const uint32_t>) override {}
    void unload(std::span<const uint32_t>) override {}
    void submit(std::span<const Query>) override {}
    void flush() override {}
    void cancel() override {}
  } target;
  Driven run;
  EXPECT_THAT(error_of([&] { run.drive(target, "batch", 1, counts(1)); }), HasSubstr("wait forever"));
}

TEST(Batch, LimitsAndOptionsAreChecked) {
  Driven run;
  ScriptedTarget target(*run.clock, {4, 1}, [](uint64_t) { return 10; });
  EXPECT_THAT(error_of([&] { run.drive(target, "batch", 8, counts(1)); }), HasSubstr("batch 8"));
  EXPECT_THAT(error_of([&] { run.drive(target, "batch", 4, counts(1), {{"in_flight", "2"}}); }), HasSubstr("in_flight=2"));
  for (const char* wrong : {"0", "-1", "x", "1.5", "99999"}) {
    EXPECT_THAT(error_of([&] {
                  run.drive(target, "batch", 1, counts(1), {{"in_flight", wrong}});
                }),
                HasSubstr(fmt::format("invalid value '{}' for in_flight", wrong)))
        << wrong;
  }
}

TEST(Batch, NoWarmupSubmitsNothing) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t) { return 10; });
  run.drive_no_warm_up(target, "batch");
  EXPECT_TRUE(target.asked.empty());
}

TEST(SingleStream, IsOneSampleAtATime) {
  Driven run;
  ScriptedTarget target(*run.clock, {4, 4}, [](uint64_t) { return 10; });
  run.drive(target, "single-stream", 1, counts(10), {{"in_flight", "4"}});
  EXPECT_EQ(target.most_in_flight, 1);
  EXPECT_THAT(error_of([&] { run.drive(target, "single-stream", 2, counts(1)); }), HasSubstr("use --scenario batch"));
}

// Under TSan this shows that completion threads and the scenario share nothing unguarded.
TEST(Threads, CompletionsFromManyThreads) {
  Driven run;
  run.clock = make_real_clock();
  ThreadedTarget target({1, 8}, 3);
  run.drive(target, "batch", 1, counts(5000), {{"in_flight", "8"}});
  ASSERT_EQ(run.kept.timings.size(), 5000u);
  std::vector<uint64_t> queries;
  for (const Timing& timing : run.kept.timings) {
    queries.push_back(timing.query);
    EXPECT_LE(timing.begin, timing.end);
  }
  std::sort(queries.begin(), queries.end());
  EXPECT_EQ(std::adjacent_find(queries.begin(), queries.end()), queries.end()) << "a query was recorded twice";
  run.drive(target, "batch", 1, counts(100), {{"in_flight", "1"}});  // the same target again, as after a warm-up
  EXPECT_EQ(run.kept.timings.size(), 5100u);
}

}  // namespace
}  // namespace deepgap
