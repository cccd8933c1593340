#include "plan/auto_repeats.h"

#include "record/record_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace deepgap {
namespace {

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
    record.windows = {{"load", 0, 1'000'000'000}, {"warm_up", 1'000'000'000, 2'000'000'000}, {"steady", 2'000'000'000, 10'000'000'000}};
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
  std::vector<double> asked_;  // the interval that each run was asked for
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
