// measure() with the scripted null backend in virtual time: what each phase leaves in the Record.
#include "worker/measure.h"

#include "telemetry/affinity.h"
#include "telemetry/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Nanoseconds ms = 1'000'000;

WorkOrder order_of(std::map<std::string, std::string> options) {
  WorkOrder order;
  order.point.model = "mobilenet_v1:width=0.125,classes=10,image=32";
  order.point.backend = "null";
  order.point.threads = 1;
  order.point.options = std::move(options);
  order.point.options["null.clock"] = "virtual";
  order.point.options["telemetry_period"] = "1h";
  order.stopping.name = "counts";
  order.stopping.iterations = 20;
  order.stopping.warmup = 3;
  return order;
}

// The settings are those of a user who says nothing about how long.
WorkOrder at_a_rate(const std::string& rate, int64_t warmup) {
  WorkOrder order = order_of({{"rate", rate}, {"null.latency", "1ms"}});
  order.point.scenario = "constant";
  order.stopping = {};
  order.stopping.warmup = warmup;
  return order;
}

// A parent that lets all begin at a time.
struct Meeting final : Turns {
  nlohmann::json meet(const nlohmann::json& /*payload*/) override {
    ++count;
    return {{"begin", begin_at}};
  }
  void take_turns(const nlohmann::json& ready, const std::function<Frame(const nlohmann::json&)>& take) override {
    told = ready;
    for (const nlohmann::json& turn : turns) gave.push_back(take(turn).header.at("payload"));
  }
  std::vector<nlohmann::json> turns, gave;
  nlohmann::json told;
  int count = 0;
  Nanoseconds begin_at = 0;
};

class MeasureTest : public ::testing::Test {
 protected:
  std::optional<Record> try_to_measure(const WorkOrder& order) { return measure(order, group_, heartbeat_, meeting_, interrupted_); }
  Record measured(const WorkOrder& order) {
    const auto record = try_to_measure(order);
    EXPECT_TRUE(record.has_value());
    return record.value_or(Record());
  }
  Heartbeat heartbeat_{[this](const Frame& frame) {
                         if (frame.header.at("phase") == interrupt_in_) interrupted_.store(true);
                         if (frame.header.at("phase") == "steady" && in_window_) in_window_();
                       },
                       {std::chrono::hours(1), std::chrono::hours(1)}};
  Group group_{heartbeat_, {"1.0", "clean"}};
  std::atomic<bool> interrupted_{false};
  std::string interrupt_in_;
  std::function<void()> in_window_;  // when it begins
  Meeting meeting_;
};

std::vector<std::string> window_names(const Record& record) {
  std::vector<std::string> names;
  for (const Window& window : record.windows) names.push_back(window.name);
  return names;
}

std::string text_of(const Record& record, const std::string& fact) {
  const auto found = record.facts.find(fact);
  return found == record.facts.end() ? "nothing" : std::get<std::string>(found->second);
}

TEST_F(MeasureTest, GoesThroughItsPhasesAndKeepsWhatEachGave) {
  const Record record = measured(order_of({{"null.latency", "2ms"}, {"null.load_time", "5ms"}}));
  EXPECT_EQ(record.outcome, Outcome::ok) << record.reason;
  EXPECT_EQ(record.verdict, Verdict::as_found) << "twenty queries were asked for, and no interval";
  EXPECT_THAT(text_of(record, "as_found"), HasSubstr("no target"));
  EXPECT_THAT(window_names(record), ElementsAre("idle", "load", "check", "warm_up", "steady"));
  EXPECT_DOUBLE_EQ(record.compile_s.value_or(0), 0.005);
  EXPECT_DOUBLE_EQ(record.first_result_ms.value_or(0), 2);
  EXPECT_EQ(record.warmup_queries, 3);
  ASSERT_EQ(record.timings.size(), 20U);
  EXPECT_EQ(record.windows.back().begin, record.timings.front().begin);
  EXPECT_EQ(record.windows.back().end - record.windows.back().begin, 40 * ms);
  EXPECT_DOUBLE_EQ(record.estimates.at("throughput").value, 500);
  EXPECT_DOUBLE_EQ(record.estimates.at("compute_ms").value, 2);
  EXPECT_EQ(text_of(record, "check"), "not needed: null computes nothing");
  EXPECT_EQ(text_of(record, "unit"), "batch");
  EXPECT_NE(text_of(record, "stopping"), "nothing");
  EXPECT_EQ(std::get<int64_t>(record.facts.at("session.slots")), 1);
}

TEST_F(MeasureTest, LaterOrdersShareTheModelAndAreIdleNoMore) {
  const WorkOrder order = order_of({});
  EXPECT_FALSE(std::get<bool>(measured(order).facts.at("load.shared")));
  const Record second = measured(order);
  EXPECT_TRUE(std::get<bool>(second.facts.at("load.shared")));
  EXPECT_THAT(window_names(second), ElementsAre("load", "check", "warm_up", "steady"));
}

// What comes before in a process changes no time: each order's Session follows its script from the beginning.
TEST_F(MeasureTest, APointMeasuresTheSameInAProcessThatServesOthers) {
  const auto batch = [](int64_t size) {
    WorkOrder order = order_of({{"null.latency", "2ms"}, {"null.distribution", "lognormal"}, {"null.sigma", "0.2"}});
    order.point.batch = size;
    return order;
  };
  for (const int64_t size : {256, 1, 16}) {
    Group own(heartbeat_, {"1.0", "clean"});
    const auto apart = measure(batch(size), own, heartbeat_, meeting_, interrupted_);
    const Record shared = measured(batch(size));
    ASSERT_TRUE(apart && apart->outcome == Outcome::ok && shared.outcome == Outcome::ok);
    ASSERT_EQ(shared.timings.size(), apart->timings.size());
    for (size_t i = 0; i < shared.timings.size(); ++i)
      EXPECT_EQ(shared.timings[i].end - shared.timings[i].begin, apart->timings[i].end - apart->timings[i].begin) << i;
    EXPECT_DOUBLE_EQ(shared.estimates.at("throughput").value, apart->estimates.at("throughput").value);
    EXPECT_FALSE(std::get<bool>(shared.facts.at("session.shared"))) << "nor is a script that was begun taken over";
  }
}

TEST_F(MeasureTest, AContenderMeasuresItsTurnsAndNothingElse) {
  WorkOrder order = order_of({{"null.latency", "2ms"}, {"duel", "null.seed: 1 + 2"}, {"contender", "2/2"}});
  order.stopping.name = "duel";
  for (const int64_t pair : {-1, 0, 1}) meeting_.turns.push_back({{"pair", pair}, {"slice_ns", 100 * ms}});
  const Record record = measured(order);
  EXPECT_EQ(record.outcome, Outcome::ok) << record.reason;
  EXPECT_THAT(window_names(record), ElementsAre("idle", "load", "check", "warm_up", "turns")) << "none that energy could be told of";
  ASSERT_EQ(meeting_.gave.size(), 3U);
  for (const nlohmann::json& gave : meeting_.gave) EXPECT_DOUBLE_EQ(gave.at("items_per_s").get<double>(), 500);
  EXPECT_TRUE(meeting_.told.at("answers").at("outputs").empty()) << "null computes nothing that could be compared";
  EXPECT_EQ(record.timings.size(), 100U) << "of two turns of 100 ms; the first one was to get going";
  EXPECT_EQ(std::get<int64_t>(record.facts.at("duel.turns")), 2);
  EXPECT_EQ(std::get<int64_t>(record.facts.at("duel.left_out")), 10) << "the first tenth of each";
  EXPECT_DOUBLE_EQ(record.estimates.at("throughput").value, 500);
  const auto turns =
      std::find_if(record.series.begin(), record.series.end(), [](const Series& series) { return series.name == "throughput"; });
  ASSERT_NE(turns, record.series.end());
  EXPECT_THAT(turns->values, ElementsAre(500, 500));
}

TEST_F(MeasureTest, ABoundIsSomethingThatWasAsked) {
  const Record record = measured(order_of({{"null.latency", "2ms"}, {"bound", "p50=5ms"}}));
  EXPECT_EQ(record.verdict, Verdict::valid) << record.reason;
  EXPECT_FALSE(record.facts.contains("as_found"));
}

// Devices of one kind answer in one moment, and then not for the length of a query.
TEST_F(MeasureTest, OfflineOnDevicesThatKeepStepIsOneSpeed) {
  WorkOrder order = order_of({{"in_flight", "4"}, {"null.latency", "100ms"}, {"null.distribution", "lognormal"}, {"null.sigma", "0.01"}});
  order.point.scenario = "offline";
  order.point.placement.devices = {{"", "cpu", 0}, {"", "cpu", 1}, {"", "cpu", 2}, {"", "cpu", 3}};
  order.stopping = {};
  order.stopping.name = "duration";
  order.stopping.duration = 2000 * ms;
  const Record record = measured(order);
  const Estimate throughput = record.estimates.at("throughput");
  EXPECT_NEAR(throughput.value, 40, 0.4);
  EXPECT_GT(*throughput.low, 39) << "30, where each answer is for itself";
  EXPECT_LT(*throughput.high, 41) << "59";
}

TEST_F(MeasureTest, OfflineSamplesThatWereCountedAskForNoInterval) {
  WorkOrder order = order_of({{"total_samples", "1000"}, {"in_flight", "1"}, {"null.latency", "5ms"}});
  order.point.scenario = "offline";
  order.stopping = {};
  order.stopping.warmup = 3;
  const Record record = measured(order);
  EXPECT_EQ(record.stopping.name, "schedule");
  EXPECT_EQ(record.timings.size(), 1000U);
  EXPECT_EQ(record.verdict, Verdict::as_found) << record.reason;
  EXPECT_THAT(text_of(record, "as_found"), HasSubstr("no target"));
  order.stopping.interval = 0.02;
  order.stopping.duration = 3000 * ms;
  const Record asked = measured(order);
  EXPECT_EQ(asked.stopping.name, "interval");
  EXPECT_EQ(asked.verdict, Verdict::valid) << asked.reason << ": an interval was asked for, and it is within it";
  EXPECT_FALSE(asked.facts.contains("as_found"));
}

TEST_F(MeasureTest, AnOpenLoopHasAWindowOfItsOwnWhereNobodyAskedForOne) {
  WorkOrder order = at_a_rate("100", 3);
  const Record record = measured(order);
  EXPECT_EQ(record.stopping.name, "duration");
  EXPECT_EQ(record.timings.size(), 1000U) << "10 s of 100 a second";
  EXPECT_DOUBLE_EQ(record.estimates.at("offered_rate").value, 100);
  EXPECT_EQ(record.verdict, Verdict::as_found) << record.reason;
  EXPECT_THAT(text_of(record, "as_found"), HasSubstr("no latency SLO was set"));
  order.point.options["bound"] = "p99=5ms";
  EXPECT_EQ(measured(order).verdict, Verdict::valid) << "the bound is what was asked";
}

TEST_F(MeasureTest, AnOpenLoopIsJudgedByTheIntervalThatItsPercentileWasAskedFor) {
  WorkOrder order = at_a_rate("100", 3);
  order.stopping.name = "interval";
  order.stopping.target = "p99";
  order.stopping.interval = 0.01;
  EXPECT_EQ(measured(order).verdict, Verdict::valid) << "each takes 1 ms";
  order.point.options["null.distribution"] = "exponential";
  order.stopping.budget = 2000 * ms;
  const Record record = measured(order);
  EXPECT_EQ(record.verdict, Verdict::unstable);
  EXPECT_THAT(record.reason, HasSubstr("p99 CI "));
}

// Two in a second, a hundredth of it apart, are two a second and not a hundred.
TEST_F(MeasureTest, TheWindowOfAnOpenLoopIsAllOfItsSchedule) {
  WorkOrder order = at_a_rate("2", 1);
  order.stopping.name = "duration";
  order.stopping.duration = 1000 * ms;
  const Record record = measured(order);
  EXPECT_NEAR(record.estimates.at("throughput").value, 2, 0.01);
  const auto steady = std::find_if(record.windows.begin(), record.windows.end(), [](const Window& w) { return w.name == "steady"; });
  ASSERT_NE(steady, record.windows.end());
  EXPECT_GE(steady->end - steady->begin, 1000 * ms);
}

TEST_F(MeasureTest, WhatLeadsToAWindowIsNotInIt) {
  WorkOrder order = order_of({{"rate", "200"}, {"null.latency", "4ms"}, {"max_batch", "4"}, {"urgent", "10%"}});
  order.point.scenario = "server";
  order.stopping.name = "duration";
  order.stopping.duration = 10'000 * ms;
  const Record record = measured(order);
  EXPECT_EQ(record.outcome, Outcome::ok) << record.reason;
  const Window &warm_up = record.windows[record.windows.size() - 2], &steady = record.windows.back();
  EXPECT_EQ(steady.name, "steady");
  EXPECT_GE(steady.begin, warm_up.end + 2000 * ms) << "a fifth of the window";
  EXPECT_LE(steady.begin, warm_up.end + 2100 * ms);
  const auto answered = static_cast<int64_t>(record.timings.size());
  EXPECT_EQ(record.estimates.at("offered_rate").n, answered);
  const int64_t metered = record.estimates.at("urgent_latency_p50_ms").n + record.estimates.at("other_latency_p50_ms").n;
  EXPECT_NEAR(static_cast<double>(metered), static_cast<double>(answered), 5)
      << "nor is it in what a meter counts, but for what was under way";
  EXPECT_NEAR(static_cast<double>(record.estimates.at("batch_size_mean").n) * record.estimates.at("batch_size_mean").value,
              static_cast<double>(answered), 10);
}

TEST_F(MeasureTest, RepeatsDrawArrivalsOfTheirOwn) {
  WorkOrder order = order_of({{"rate", "200"}, {"null.latency", "1ms"}});
  order.point.scenario = "server";
  order.stopping.name = "duration";
  order.stopping.duration = 1000 * ms;
  const auto gaps = [&](int repeat) {
    order.repeat = repeat;
    const Record record = measured(order);
    std::vector<Nanoseconds> between;
    for (size_t i = 1; i < record.timings.size(); ++i) between.push_back(record.timings[i].scheduled - record.timings[i - 1].scheduled);
    return between;
  };
  const auto first = gaps(0);
  EXPECT_NE(first, gaps(1));
  EXPECT_EQ(first, gaps(0));
}

TEST_F(MeasureTest, AnOverloadedWindowIsInvalid) {
  WorkOrder order = order_of({{"rate", "1000"}, {"null.latency", "4ms"}});
  order.point.scenario = "constant";
  order.stopping.name = "duration";
  order.stopping.duration = 1000 * ms;
  const Record record = measured(order);
  EXPECT_EQ(record.outcome, Outcome::ok);
  EXPECT_EQ(record.verdict, Verdict::invalid);
  EXPECT_THAT(record.reason, HasSubstr("overloaded"));
}

TEST_F(MeasureTest, ADispatcherTellsWhatItDid) {
  const Record record = measured(order_of({{"instances", "2"}, {"null.latency", "1ms"}}));
  EXPECT_EQ(record.outcome, Outcome::ok) << record.reason;
  EXPECT_EQ(text_of(record, "instance.1"), "cpu #2");
  EXPECT_EQ(record.estimates.count("queue_depth_mean"), 1U);
  const bool kept = std::any_of(record.series.begin(), record.series.end(), [](const Series& s) { return s.name == "queue_depth"; });
  EXPECT_TRUE(kept);
}

TEST_F(MeasureTest, EveryFailureIsTheRecordsOutcome) {
  const Record refused = measured(order_of({{"null.refuse", "no such thing"}}));
  EXPECT_EQ(refused.outcome, Outcome::refused);
  EXPECT_EQ(text_of(refused, "refused.by"), "null");
  EXPECT_EQ(text_of(refused, "refused.at"), "load");
  EXPECT_EQ(measured(order_of({{"null.oom_at_load", "1"}})).outcome, Outcome::out_of_memory);
  EXPECT_EQ(measured(order_of({{"null.device_lost_at", "6"}})).outcome, Outcome::device_lost);
  const Record failed = measured(order_of({{"null.fail_at", "6"}}));
  EXPECT_EQ(failed.outcome, Outcome::crashed);
  EXPECT_THAT(failed.reason, HasSubstr("query 6 failed as scripted"));
  EXPECT_THAT(window_names(failed), ::testing::Not(::testing::Contains("steady"))) << "it broke off there";
  const Record hung = measured(order_of({{"null.hang_at", "6"}}));
  EXPECT_EQ(hung.outcome, Outcome::timed_out) << hung.reason;
  EXPECT_THAT(window_names(hung), ::testing::Not(::testing::Contains("steady")));
  const Record mistaken = measured(order_of({{"latncy", "1ms"}}));
  EXPECT_EQ(mistaken.outcome, Outcome::refused);
  EXPECT_EQ(text_of(mistaken, "refused.by"), "deepgap");
}

TEST_F(MeasureTest, AnInterruptEndsItInWhateverPhaseItComes) {
  for (const char* phase : {"load", "check", "warm_up", "steady"}) {
    interrupted_.store(false);
    interrupt_in_ = phase;
    const Record record = measured(order_of({}));
    EXPECT_EQ(record.outcome, Outcome::interrupted) << phase;
    EXPECT_EQ(record.reason, "interrupted") << phase;
    EXPECT_TRUE(record.timings.empty()) << phase;
  }
}

// Where a person waits.
TEST_F(MeasureTest, AWindowThatTheUserEndsIsAResult) {
  WorkOrder order = order_of({{"null.latency", "10ms"}, {"null.distribution", "normal"}});
  order.stopping.name = "interval";
  order.stopping.interval = 0.0001;
  order.keep_cut_window = true;
  const auto interrupt_after = [&](Nanoseconds length) {
    interrupted_.store(false);
    in_window_ = [&, length] {
      Clock& clock = group_.clock(order);
      clock.schedule(clock.now() + length, [&] { interrupted_.store(true); });
    };
    return measured(order);
  };
  const Record kept = interrupt_after(3'000 * ms);
  EXPECT_EQ(kept.outcome, Outcome::ok) << kept.reason;
  EXPECT_EQ(kept.verdict, Verdict::unstable);
  EXPECT_THAT(kept.reason, HasSubstr("; ended by the user after 2.9"));
  EXPECT_THAT(text_of(kept, "stopping"), HasSubstr("ended by the user"));
  EXPECT_NEAR(kept.estimates.at("throughput").value, 100, 20);
  EXPECT_THAT(window_names(kept), ::testing::Contains("steady"));
  EXPECT_EQ(interrupt_after(100 * ms).outcome, Outcome::interrupted) << "too short for a figure";
  order.stopping.interval = 0.5;
  order.stopping.duration = 10'000 * ms;
  EXPECT_EQ(interrupt_after(3'000 * ms).verdict, Verdict::as_found) << "narrow, but who ended it chose the moment";
  order.keep_cut_window = false;
  EXPECT_EQ(interrupt_after(3'000 * ms).outcome, Outcome::interrupted) << "where nobody waits it is measured anew";
}

TEST_F(MeasureTest, SeveralProcessesMeetBeforeTheWindow) {
  WorkOrder order = order_of({});
  order.ranks = 2;
  meeting_.begin_at = 60'000 * ms;
  const std::vector<int> cpus = allowed_cpus();
  const Record record = measured(order);
  pin_thread(cpus);  // each process has a part of them
  EXPECT_EQ(meeting_.count, 1);
  ASSERT_FALSE(record.timings.empty()) << record.reason;
  EXPECT_EQ(record.timings.front().begin, meeting_.begin_at) << "not before all may begin";
}

// A server's failures do this, and the null backend's on request.
TEST_F(MeasureTest, FailuresThatTheSessionOutlivesMakeAShare) {
  WorkOrder order = order_of({{"null.fail_at", "10-13"}, {"null.outlive_failures", "on"}});
  const Record record = measured(order);
  EXPECT_EQ(record.outcome, Outcome::ok) << record.reason;
  EXPECT_EQ(record.verdict, Verdict::invalid);
  EXPECT_EQ(record.timings.size(), 20U);
  EXPECT_THAT(record.reason,
              HasSubstr("4 of 24 queries (17 %) failed, at most 0 % are allowed (failed_allowed): 1 x query 10 failed as scripted"));
  EXPECT_DOUBLE_EQ(record.estimates.at("failed_share").value, 4.0 / 24);
  order.point.options["failed_allowed"] = "20%";
  const Record allowed = measured(order);
  EXPECT_EQ(allowed.verdict, Verdict::as_found) << allowed.reason;
  EXPECT_THAT(text_of(allowed, "failures"), HasSubstr("query 13 failed as scripted"));
}

TEST_F(MeasureTest, WhereEveryQueryFailsNothingWasMeasured) {
  const Record record = measured(order_of({{"null.fail_at", "4-100000"}, {"null.outlive_failures", "on"}}));
  EXPECT_EQ(record.outcome, Outcome::crashed);
  EXPECT_THAT(record.reason, HasSubstr("every query failed: "));
}

}  // namespace
}  // namespace deepgap
