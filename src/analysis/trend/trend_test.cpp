#include "analysis/trend/trend.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <random>

namespace deepgap {
namespace {

constexpr int64_t day = 86'400'000'000'000;

class TrendTest : public testing::Test {
 protected:
  Record night(int number, double throughput, const std::string& cpu = "Xeon", const std::string& backend = "native") {
    Record record;
    record.run_id = fmt::format("run{}", number);
    record.point.model = "resnet50";
    record.point.backend = backend;
    record.started_unix_ns = number * day + 1;
    record.environment["cpu.model"] = cpu;
    record.environment["deepgap.git"] = fmt::format("commit{}", number);
    record.estimates["throughput"] = {throughput * (1 + 0.005 * normal_(random_)), {}, {}, 1};
    return record;
  }
  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
  TrendCollector trend_{"throughput", "deepgap.git"};
};

TEST_F(TrendTest, FindsTheNightAndItsVersion) {
  for (int i = 29; i >= 0; --i) {
    for (int repeat = 0; repeat < 3; ++repeat) trend_.add(night(i, i < 18 ? 100 : 94));
  }
  const auto all = trend_.series();
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].runs.size(), 30U) << "repeats of one run are one value";
  ASSERT_EQ(all[0].changes.size(), 1U);
  const TrendChange& change = all[0].changes[0];
  EXPECT_EQ(change.at, 18U);
  EXPECT_EQ(all[0].runs[change.at].version, "commit18");
  EXPECT_NEAR(change.before, 100, 1);
  EXPECT_NEAR(change.after, 94, 1);
}

TEST_F(TrendTest, MachinesAreNotJoined) {
  for (int i = 0; i < 30; ++i) trend_.add(night(i, i < 15 ? 100 : 200, i < 15 ? "Xeon" : "EPYC"));
  const auto all = trend_.series();
  EXPECT_EQ(all.size(), 2U);
  for (const TrendSeries& series : all) EXPECT_TRUE(series.changes.empty());
}

TEST_F(TrendTest, AControlTakesTheMachineOut) {
  for (int i = 0; i < 30; ++i) {
    const double machine = i < 10 ? 1 : 0.8;  // a slower clock from then on
    trend_.add(night(i, 100 * machine * (i < 20 ? 1 : 1.1)));
    if (i != 5) trend_.add_control(night(i, 50 * machine, "Xeon", "onnxruntime"));
  }
  const auto all = trend_.series();
  ASSERT_EQ(all[0].runs.size(), 29U) << "a run without its control is none";
  ASSERT_EQ(all[0].changes.size(), 1U);
  EXPECT_EQ(all[0].changes[0].at, 19U);
  EXPECT_NEAR(all[0].changes[0].after / all[0].changes[0].before, 1.1, 0.01);
}

TEST_F(TrendTest, WhatIsNoFigureIsLeftOut) {
  for (const double value : {static_cast<double>(NAN), static_cast<double>(INFINITY), 0.0, -100.0}) {
    Record record = night(7, 100);
    record.estimates["throughput"].value = value;
    trend_.add(record);
    trend_.add_control(record);
  }
  EXPECT_TRUE(trend_.series().empty());
}

// A wall clock that is set back between the repeats of a night, and one that never moves.
TEST_F(TrendTest, AClockThatStepsLosesNoRun) {
  for (int i = 0; i < 12; ++i) {
    Record first = night(i, 100), second = night(i, 100);
    second.started_unix_ns -= 3 * day;
    trend_.add(first);
    trend_.add(second);
  }
  ASSERT_EQ(trend_.series().size(), 1U);
  EXPECT_EQ(trend_.series()[0].runs.size(), 12U);
  TrendCollector standing("throughput", "deepgap.git");
  for (int i = 0; i < 12; ++i) {
    Record record = night(i, 100);
    record.started_unix_ns = day;
    standing.add(record);
  }
  EXPECT_EQ(standing.series()[0].runs.size(), 12U);
}

TEST_F(TrendTest, WhatFailedOrHasNoDateIsLeftOut) {
  Record failed = night(1, 100), undated = night(2, 100), other = night(3, 100);
  failed.outcome = Outcome::crashed;
  undated.started_unix_ns = 0;
  other.estimates.clear();
  for (const Record& record : {failed, undated, other}) trend_.add(record);
  EXPECT_TRUE(trend_.series().empty());
}

}  // namespace
}  // namespace deepgap
