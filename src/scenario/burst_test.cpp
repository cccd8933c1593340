// These tests run in virtual time: times are exact.
#include "scenario/fake_target.h"
#include "scenario/scenario_options.h"
#include "scenario/test_drive.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using testing::HasSubstr;
constexpr Nanoseconds ms = 1'000'000, second = 1'000 * ms;

std::string complaint(const ScenarioOptions& options) {
  return error_of([&] { Registry<Scenario>::instance().make("scenario", "burst")->parse(options); });
}

TEST(Burst, IsKnownByNameWithItsOptionsAndItsLoad) {
  EXPECT_THAT(Registry<Scenario>::instance().names(), testing::Contains("burst"));
  std::vector<std::string> names;
  for (const OptionInfo& option : Registry<Scenario>::instance().make("scenario", "burst")->options()) names.push_back(option.name);
  EXPECT_THAT(names, testing::ElementsAre("interval", "size", "in_flight"));
  EXPECT_EQ(load_axis("burst")->name, "size");
  EXPECT_FALSE(scenario_traits("burst").draws_arrivals);
}

TEST(Burst, EveryIntervalAllOfItsQueriesAreDueAtOnce) {
  Driven run;
  ScriptedTarget target(*run.clock, {2, 8}, [](uint64_t) { return 30 * ms; });
  run.drive(target, "burst", 2, lasting(second), {{"interval", "250ms"}, {"size", "3"}});
  ASSERT_EQ(run.kept.timings.size(), 12u) << "at 0, 250, 500 and 750 ms; that at 1 s is not of this second";
  for (size_t i = 0; i < run.kept.timings.size(); ++i) {
    const Timing& timing = run.kept.timings[i];
    EXPECT_EQ(timing.scheduled, static_cast<Nanoseconds>(i / 3) * 250 * ms);
    EXPECT_EQ(timing.begin, timing.scheduled);
    EXPECT_EQ(timing.samples, 2u);
  }
  EXPECT_EQ(target.most_in_flight, 3);
  EXPECT_EQ(run.offered.offered, 12);
  EXPECT_EQ(run.offered.finished_in_time, 12);
  EXPECT_EQ(run.offered.length, second);
}

// Who waits for room counts the wait: of a burst served one by one, the last query has the latency of all.
TEST(Burst, LatencyCountsFromTheBurst) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t) { return 10 * ms; });
  run.drive(target, "burst", 1, lasting(2 * second), {{"interval", "100ms"}, {"size", "5"}});
  ASSERT_EQ(run.kept.timings.size(), 100u);
  for (size_t i = 0; i < 100; ++i) {
    const Timing& timing = run.kept.timings[i];
    EXPECT_EQ(timing.end - timing.scheduled, static_cast<Nanoseconds>(i % 5 + 1) * 10 * ms) << i;
  }
}

TEST(Burst, InFlightHoldsTheRestBack) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 8}, [](uint64_t) { return 10 * ms; });
  run.drive(target, "burst", 1, lasting(second), {{"interval", "100ms"}, {"size", "6"}, {"in_flight", "2"}});
  EXPECT_EQ(target.most_in_flight, 2);
  EXPECT_EQ(run.kept.timings.size(), 60u);
}

TEST(Burst, BurstsThatAreNotThroughBeforeTheNextAreAnOverload) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 1}, [](uint64_t) { return 20 * ms; });
  run.drive(target, "burst", 1, lasting(10 * second), {{"interval", "100ms"}, {"size", "10"}});
  EXPECT_EQ(run.offered.offered, 1000);
  EXPECT_EQ(run.offered.waiting, run.offered.offered - static_cast<int64_t>(run.kept.timings.size()));
  EXPECT_GT(run.offered.waiting, 400);
  EXPECT_LE(run.clock->now(), 10 * second + 20 * ms);
}

TEST(Burst, WithoutOptionsItIsTenEvery100ms) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 16}, [](uint64_t) { return ms; });
  run.drive(target, "burst", 1, lasting(second));
  EXPECT_EQ(run.kept.timings.size(), 100u);
  EXPECT_EQ(run.kept.timings[10].scheduled, 100 * ms);
}

TEST(Burst, AnIntervalBeyondTheClockLeavesOneBurst) {
  Driven run;
  ScriptedTarget target(*run.clock, {1, 4}, [](uint64_t) { return ms; });
  run.drive(target, "burst", 1, lasting(second), {{"interval", "2400000h"}, {"size", "3"}});
  EXPECT_EQ(run.kept.timings.size(), 3u);
}

TEST(Burst, SenselessSettingsAreErrors) {
  EXPECT_THAT(complaint({{"interval", "0s"}}), HasSubstr("'0s' for interval"));
  EXPECT_THAT(complaint({{"interval", "5"}}), HasSubstr("'5' for interval"));
  EXPECT_THAT(complaint({{"size", "0"}}), HasSubstr("'0' for size"));
  EXPECT_THAT(complaint({{"size", "2.5"}}), HasSubstr("'2.5' for size"));
  EXPECT_THAT(complaint({{"in_flight", "0"}}), HasSubstr("'0' for in_flight"));
}

}  // namespace
}  // namespace deepgap
