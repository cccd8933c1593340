// Loops that keep several queries in flight are measured in whole rounds: slots that keep step complete together, which is no change of
// speed.
#include "scenario/scenario.h"
#include "scenario/stopping.h"
#include "scenario/test_slots.h"
#include "stats/random_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace deepgap {
namespace {

constexpr Nanoseconds ms = 1'000'000;

StoppingSettings for_two_seconds() {
  StoppingSettings settings;
  settings.name = "duration";
  settings.duration = 2'000 * ms;
  return settings;
}

TEST(Rounds, SlotsThatKeepStepAreNotTwoSpeeds) {
  RandomStream random(1, "jitter");
  const auto in_step = [&](size_t) { return 100 * ms + static_cast<Nanoseconds>(random.uniform() * 1e5); };
  const auto rounds = make_stopping(for_two_seconds(), 2);
  EXPECT_EQ(feed_slots(*rounds, 2, 4, in_step), 40);
  EXPECT_EQ(rounds->verdict().verdict, Verdict::as_found) << rounds->verdict().reason;
  EXPECT_NEAR(rounds->throughput().value, 80, 0.1);
  EXPECT_GT(*rounds->throughput().low, 79.8);
  // This was judged before: every completion for itself.
  const auto single = make_stopping(for_two_seconds(), 1);
  feed_slots(*single, 2, 4, in_step);
  EXPECT_EQ(single->verdict().verdict, Verdict::unstable);
}

TEST(Rounds, AWindowEndsWithAWholeOne) {
  const auto stopping = make_stopping(for_two_seconds(), 3);
  EXPECT_EQ(feed_slots(*stopping, 3, 4, [](size_t slot) { return 700 * ms + static_cast<Nanoseconds>(slot); }), 9);
  EXPECT_NEAR(stopping->throughput().value, 3 * 4 / 0.7, 1e-6);
  StoppingSettings counts;
  counts.name = "counts";
  counts.iterations = 10;
  const auto exact = make_stopping(counts, 3);
  EXPECT_EQ(feed_slots(*exact, 3, 4, [](size_t) { return 700 * ms; }), 10);  // as many as were asked for
}

TEST(Rounds, SlotsOfDifferentSpeedsAddUp) {
  const auto stopping = make_stopping(for_two_seconds(), 2);
  feed_slots(*stopping, 2, 4, [](size_t slot) { return (slot == 0 ? 10 : 30) * ms; });
  EXPECT_NEAR(stopping->throughput().value, 4 * (100 + 100 / 3.0), 3);
  EXPECT_EQ(stopping->verdict().verdict, Verdict::as_found) << stopping->verdict().reason;
}

TEST(Rounds, AnIntervalCoversAndSteadySlotsAreNotUnstable) {
  constexpr int runs = 400;
  int covered = 0, unstable = 0;
  for (uint64_t run = 0; run < runs; ++run) {
    RandomStream random(run, "slots");
    const auto stopping = make_stopping(for_two_seconds(), 2);
    feed_slots(*stopping, 2, 4, [&](size_t) { return static_cast<Nanoseconds>(25e6 * (1 + 0.06 * (random.uniform() - 0.5))); });
    const Estimate found = stopping->throughput();
    covered += found.low && found.high && *found.low <= 320 && 320 <= *found.high ? 1 : 0;
    unstable += stopping->verdict().verdict == Verdict::unstable ? 1 : 0;
  }
  EXPECT_GE(covered, runs * 93 / 100);
  EXPECT_LE(unstable, runs * 2 / 100);
}

TEST(Rounds, OfALoopThatKeepsSeveralInFlight) {
  const auto round_of = [](const std::string& name, const std::map<std::string, std::string>& options, int64_t devices = 1) {
    const auto scenario = Registry<Scenario>::instance().make("scenario", name);
    scenario->parse(options);
    return scenario->round(devices);
  };
  EXPECT_EQ(round_of("batch", {{"in_flight", "3"}}), 3);
  EXPECT_EQ(round_of("batch", {}), 1);
  EXPECT_EQ(round_of("single-stream", {}), 1);
  EXPECT_EQ(round_of("concurrency", {{"clients", "8"}}), 1);
  EXPECT_EQ(round_of("offline", {}), 1);
  EXPECT_EQ(round_of("offline", {{"in_flight", "4"}}, 2), 2) << "two devices keep step, whatever waits for them";
  EXPECT_EQ(round_of("offline", {{"total_samples", "99"}}, 2), 1);
}

}  // namespace
}  // namespace deepgap
