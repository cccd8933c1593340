#include "plan/auto_repeats.h"

#include "record/record_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <utility>

namespace deepgap {
namespace {

constexpr Nanoseconds one_second = 1'000'000'000;

std::vector<Job> jobs_of(int64_t batch) {
  std::vector<Job> jobs;
  Job job;
  job.point.model = "resnet18";
  job.point.batch = batch;
  job.point_id = point_id(job.point);
  for (job.repeat = 0; job.repeat < most_auto_repeats; ++job.repeat) jobs.push_back(job);
  return jobs;
}

constexpr double by_itself = 0.0149;  // interval asked of one run, where 1 % is asked of all

class AutoRepeatsTest : public testing::Test {
 protected:
  // Returns how many repeats each of two Points got, whose throughputs scatter by so much.
  std::pair<int, int> repeats_of(double first, double second) {
    std::vector<Job> jobs = jobs_of(1);
    for (const Job& job : jobs_of(2)) jobs.push_back(job);
    for (Job& job : jobs) {
      job.stopping.interval = interval_;
      job.stopping.target = target_;
      job.stopping.duration = 2 * one_second;
      job.own_window = own_window_;
    }
    AutoRepeats planner(make_grid_planner(std::move(jobs), 1, [](const Job& job) { return job.point_id; }, {}),
                        [this] { return is_over_; });
    std::normal_distribution<double> normal;
    std::pair<int, int> count;
    for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
      for (const Job& job : batch.jobs) {
        int& own = job.point.batch == 1 ? count.first : count.second;
        is_over_ = ++own == over_after_;
        asked_.push_back(job.stopping.interval);
        shortest_.push_back(job.stopping.duration);
        EXPECT_TRUE(job.stopping.auto_repeats) << "whoever reads its Record must know";
        EXPECT_EQ(job.stopping.asked_of_all, interval_) << "and hold all of them against it";
        planner.done(record_of(job, 100 * (1 + (job.point.batch == 1 ? first : second) * normal(random_))));
      }
    }
    return count;
  }
  // A second of load and of warm-up, then a window in which the run's own interval came to `own_`.
  Record record_of(const Job& job, double throughput) const {
    Record record;
    record.point = job.point;
    record.outcome = outcome_;
    record.stopping = job.stopping;
    record.estimates["throughput"] = {throughput, throughput * (1 - own_), throughput * (1 + own_), 10};
    if (target_ != "throughput") {  // that of throughput is steady
      record.estimates["latency_p99_ms"] = record.estimates["throughput"];
      record.estimates["throughput"] = {100, 99.9, 100.1, 10};
    }
    record.windows = {{"load", 0, one_second}, {"warm_up", one_second, 2 * one_second}, {"steady", 2 * one_second, 10 * one_second}};
    if (idle_) record.windows.insert(record.windows.begin(), *idle_);
    return record;
  }

  // Two seconds beside a window of eight at whose end the interval is `own_`.
  double width_where_they_differ_by(double scatter) const {
    const double window = std::sqrt(2 * 8 * std::pow(own_ / 1.96, 2)) / scatter;
    return own_ * std::sqrt(8 / window);
  }

  std::mt19937_64 random_{1};
  double own_ = 0.01, interval_ = 0.01;
  std::string target_ = "throughput";
  std::optional<Window> idle_;
  bool own_window_ = true;
  std::vector<double> asked_;  // the interval that each run was asked for
  std::vector<std::optional<Nanoseconds>> shortest_;
  Outcome outcome_ = Outcome::ok;
  bool is_over_ = false;
  int over_after_ = -1;
};

TEST_F(AutoRepeatsTest, EachPointGetsWhatItNeeds) {
  const auto [quiet, restless] = repeats_of(0.002, 0.02);  // 1 % is asked
  EXPECT_EQ(quiet, 5);
  EXPECT_GT(restless, 9);
  EXPECT_LE(restless, most_auto_repeats);
}

TEST_F(AutoRepeatsTest, WhatIsAskedOfAPercentileIsNotKnownByThroughput) {
  target_ = "p99";
  const auto [quiet, restless] = repeats_of(0.002, 0.02);
  EXPECT_EQ(quiet, 5);
  EXPECT_GT(restless, 9);
  for (const double asked : asked_) EXPECT_EQ(asked, interval_) << "of each run too: how wide pays is known of throughput alone";
}

TEST_F(AutoRepeatsTest, NoMoreThanThereMayBe) { EXPECT_EQ(repeats_of(0.3, 0.3), std::pair(most_auto_repeats, most_auto_repeats)); }

TEST_F(AutoRepeatsTest, OneThatFailsTwiceIsNotTriedThirtyTimes) {
  outcome_ = Outcome::crashed;
  EXPECT_EQ(repeats_of(0, 0), std::pair(2, 2));
}

TEST_F(AutoRepeatsTest, WhereRepeatsDifferARunIsAskedForLess) {
  own_ = 0.01;  // after 8 s, so 0.0051 of a standard error: v = 0.00021 a second
  repeats_of(0.03, 0.03);
  EXPECT_NEAR(asked_.back(), width_where_they_differ_by(0.03), 0.3 * width_where_they_differ_by(0.03));
  EXPECT_GT(asked_.back(), 0.02);
}

// Standard errors of 1.02 % within runs of 8 s, and of 2 % between runs: 27 that are known to 2.5 % come to 1 % together.
TEST_F(AutoRepeatsTest, ARunIsLongEnoughForThirtyOfThemToSuffice) {
  own_ = 0.02;
  repeats_of(0.0224, 0.0224);
  EXPECT_NEAR(asked_.back(), 0.025, 0.006);
  EXPECT_LT(asked_.back(), 0.8 * width_where_they_differ_by(0.02)) << "which would be the quickest, if there were more";
}

// The idle window of a process is measured before its first Point, and the Records of all its Points on a GPU have it.
TEST_F(AutoRepeatsTest, WhatThePointsOfAProcessShareIsNotWhatOneRepeatTakes) {
  own_ = 0.01;
  repeats_of(0.03, 0.03);
  const std::vector<double> alone = std::exchange(asked_, {});
  idle_ = Window{"idle", -600 * one_second, -599 * one_second};
  random_.seed(1);
  repeats_of(0.03, 0.03);
  EXPECT_EQ(asked_, alone);
}

TEST_F(AutoRepeatsTest, AfterFiveWindowsOfTheUsualLengthLaterOnesMayBeShorter) {
  const auto [first, second] = repeats_of(0.3, 0.3);
  ASSERT_EQ(std::pair(first, second), std::pair(most_auto_repeats, most_auto_repeats));
  for (size_t i = 0; i < shortest_.size(); ++i) EXPECT_EQ(shortest_[i].has_value(), i < 10) << "of two Points in turns: " << i;
}

TEST_F(AutoRepeatsTest, AShortestWindowThatWasAskedForHoldsForAllRepeats) {
  own_window_ = false;
  repeats_of(0.3, 0.3);
  for (const auto& shortest : shortest_) EXPECT_EQ(shortest, 2 * one_second);
}

TEST_F(AutoRepeatsTest, UntilRepeatsTellTheyAreTakenToDifferByWhatIsAsked) {
  own_ = 0.02;
  repeats_of(0, 0);
  EXPECT_NEAR(asked_[0], 2 * by_itself, 1e-4);  // for two Points in turns
  EXPECT_NEAR(asked_[2], width_where_they_differ_by(0.01), 1e-4);
  for (size_t i = 4; i < asked_.size(); i += 2) EXPECT_LT(asked_[i], asked_[i - 2]) << "they are alike";
}

// sqrt(5) runs' worth: 1.06 x 2.776 standard errors of five against the 1.96 of one.
TEST_F(AutoRepeatsTest, NoRunIsAskedForMoreThanFiveOfThemTakeToComeToWhatIsAskedOfAll) {
  own_ = 0.003;
  repeats_of(0, 0);
  EXPECT_NEAR(asked_.back(), 0.01 * std::sqrt(5.0) * 1.96 / (1.06 * 2.776), 1e-5);
}

TEST_F(AutoRepeatsTest, WhatRunsWereAskedForIsNotWhatThePointIs) {
  std::vector<Job> jobs = jobs_of(1);
  AutoRepeats planner(make_grid_planner({jobs.begin() + 6, jobs.end()}, 1, [](const Job& job) { return job.point_id; }, {}),
                      [] { return false; });
  for (size_t i = 0; i < 6; ++i) {  // an earlier run's: 1.1 % together, which is less than each was asked for
    jobs[i].stopping.interval = by_itself;
    planner.done(record_of(jobs[i], 100 + (i % 2 == 0 ? 0.95 : -0.95)));
  }
  EXPECT_FALSE(planner.next().jobs.empty());
}

TEST_F(AutoRepeatsTest, ARunIsNeverAskedForMoreThanFiveInAHundred) {
  own_ = 0.05;
  interval_ = 0.03;  // the first run would be asked for 9 %
  repeats_of(0.3, 0.3);
  for (const double asked : asked_) EXPECT_LE(asked, 0.05);
  EXPECT_EQ(asked_.back(), 0.05);
}

TEST_F(AutoRepeatsTest, EndsWithItsTime) {
  over_after_ = 7;
  const auto [first, second] = repeats_of(0.3, 0.3);
  EXPECT_EQ(std::max(first, second), 7);
}

}  // namespace
}  // namespace deepgap
