// Queries that fail while the run goes on.
#include "scenario/failures.h"

#include "scenario/fake_target.h"
#include "scenario/test_drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds ms = 1'000'000, s = 1'000'000'000;

TEST(Failures, AreCountedByTheirReasons) {
  Failures failures;
  for (int i = 0; i < 3; ++i) failures.add(0, ms, "connection refused");
  failures.add(0, ms, "answered 503");
  EXPECT_EQ(failures.text(), "3 x connection refused; 1 x answered 503");
  EXPECT_DOUBLE_EQ(failures.share(12), 0.25);
  EXPECT_DOUBLE_EQ(Failures().share(0), 0);
}

TEST(Failures, ReasonsThatNeverEndAreNotAllKept) {
  Failures failures;
  for (int i = 0; i < 1000; ++i) failures.add(0, ms, "request " + std::to_string(i));
  EXPECT_THAT(failures.text(), HasSubstr("984 x other reasons"));
}

TEST(Failures, OfHalfAMinuteWithoutAnAnswerAreHopeless) {
  Failures failures;
  failures.add(0, 29 * s, "no");
  EXPECT_FALSE(failures.hopeless());
  failures.answered();
  failures.add(29 * s, 58 * s, "no");
  EXPECT_FALSE(failures.hopeless());
  failures.add(58 * s, 59 * s, "no");
  EXPECT_TRUE(failures.hopeless());
}

TEST(Failures, AClosedLoopGoesOnAndCountsThem) {
  Driven driven;
  ScriptedTarget target(*driven.clock, {1, 1}, [](uint64_t) { return 2 * ms; });
  target.outlives = true;
  target.failing = {3, 4, 9};
  driven.drive(target, "single-stream", 1, counts(20));
  EXPECT_EQ(driven.kept.timings.size(), 20U);
  EXPECT_EQ(driven.failures.count(), 3);
  EXPECT_EQ(driven.failures.text(), "3 x the scripted failure");
  // Each failure is followed by a pause, so that a server that refuses is not flooded.
  EXPECT_EQ(driven.clock->now(), 23 * 2 * ms + 3 * 10 * ms);
}

TEST(Failures, AnOpenLoopKeepsItsSchedule) {
  Driven driven;
  ScriptedTarget target(*driven.clock, {1, 4}, [](uint64_t) { return 2 * ms; });
  target.outlives = true;
  for (uint64_t i = 0; i < 1000; i += 10) target.failing.insert(i);
  driven.drive(target, "constant", 1, lasting(s), {{"rate", "100"}});
  EXPECT_EQ(driven.offered.offered, 100);
  EXPECT_EQ(driven.failures.count(), 10);
  EXPECT_EQ(driven.kept.timings.size(), 90U);
}

TEST(Failures, ALoopThatIsAlwaysRefusedEnds) {
  Driven driven;
  ScriptedTarget target(*driven.clock, {1, 1}, [](uint64_t) { return ms; });
  target.outlives = true;
  for (uint64_t i = 0; i < 10'000; ++i) target.failing.insert(i);
  driven.drive(target, "single-stream", 1, counts(5));
  EXPECT_TRUE(driven.kept.timings.empty());
  EXPECT_GE(driven.clock->now(), 30 * s);
  EXPECT_LT(driven.clock->now(), 31 * s);
}

TEST(Failures, EndTheRunOfATargetThatDoesNotOutliveThem) {
  Driven driven;
  ScriptedTarget target(*driven.clock, {1, 1}, [](uint64_t) { return ms; });
  target.failing = {2};
  EXPECT_THROW(driven.drive(target, "single-stream", 1, counts(5)), Error);
}

}  // namespace
}  // namespace deepgap
