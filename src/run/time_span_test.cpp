#include "run/time_span.h"

#include "record/tenant_set.h"
#include "run/time_estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace deepgap {
namespace {

TEST(TimeSpan, OneFigureWhereTheEndsAreNear) {
  EXPECT_EQ(left_text({75}), ", about 1 min 15 s left");
  EXPECT_EQ(left_text({30, 20, 45}), ", about 30 s left");
  EXPECT_EQ(left_text({8100, 6000, 9000}), ", about 2 h 15 min left");
  EXPECT_EQ(left_text({}), "");
}

TEST(TimeSpan, ARangeWhereTheyAreFarRoundedToTheOutside) {
  EXPECT_EQ(left_text({200, 125, 341}), ", about 3 min 20 s (2 to 6 min) left");
  EXPECT_EQ(left_text({60, 31.9, 90.1}), ", about 1 min 0 s (31 to 91 s) left");
  EXPECT_EQ(left_text({150, 80, 300}), ", about 2 min 30 s (80 s to 5 min) left");
  EXPECT_EQ(left_text({5000, 3000, 8000}), ", about 1 h 23 min (50 min to 3 h) left");
  EXPECT_EQ(left_text({20, 0, 50}), ", about 20 s (up to 50 s) left");
}

TEST(TimeSpan, WhatIsOverIsTakenFromBothEnds) {
  const TimeSpan left = TimeSpan{30, 20, 60}.after(25);
  EXPECT_DOUBLE_EQ(left.likely, 5);
  EXPECT_DOUBLE_EQ(left.low, 0);
  EXPECT_DOUBLE_EQ(left.high, 35);
}

TEST(TimeSpan, NoneOfItLiesBeyondWhatThereIs) {
  const TimeSpan time = TimeSpan{30, 20, 60}.at_most(25);
  EXPECT_DOUBLE_EQ(time.likely, 25);
  EXPECT_DOUBLE_EQ(time.low, 20);
  EXPECT_DOUBLE_EQ(time.high, 25);
}

// Simulates Jobs that take exp(`scatter` x a normal number) times what is guessed of their windows: how often, between a tenth and nine
// tenths of the time, the time left lies in the span shown, and how often that is one figure.
class TimeLeftOfPlans : public testing::Test {
 protected:
  void run(const std::string& stopping, double scatter) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    for (int plan = 0; plan < 300; ++plan) {
      std::vector<Job> jobs(16);
      std::vector<double> took;
      double all = 0, over = 0;
      for (size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].point_id = std::to_string(i);
        jobs[i].stopping.name = stopping;
        jobs[i].stopping.duration = 2'000'000'000;
        took.push_back(2 + 2 * std::exp(scatter * normal(random)));
        all += took.back();
      }
      TimeEstimate estimate;
      for (size_t i = 0; i < jobs.size(); ++i) {
        estimate.took(jobs[i], took[i]);
        over += took[i];
        if (over < 0.1 * all || over > 0.9 * all) continue;
        std::vector<const Job*> rest;
        for (size_t k = i + 1; k < jobs.size(); ++k) rest.push_back(&jobs[k]);
        const TimeSpan told = estimate.of(rest);
        inside_ += told.low <= all - over && all - over <= told.high ? 1 : 0;
        one_figure_ += told.is_one_figure() ? 1 : 0;
        right_ += told.is_one_figure() && std::abs(std::log(told.likely / (all - over))) <= std::log(1.5) ? 1 : 0;
        ++lines_;
      }
    }
  }
  double inside_ = 0, one_figure_ = 0, right_ = 0, lines_ = 0;
};

TEST_F(TimeLeftOfPlans, WindowsOfALengthAreToldInOneFigure) {
  run("duration", 0.05);
  EXPECT_EQ(one_figure_, lines_);
  EXPECT_EQ(right_, lines_);
}

TEST_F(TimeLeftOfPlans, WindowsThatEndAtAnIntervalAreWithinWhatIsTold) {
  run("interval", 0.7);
  EXPECT_GT(inside_ / lines_, 0.85);
  EXPECT_GT(right_ / one_figure_, 0.85) << "who says one figure says that it is within 1.5";
  EXPECT_LT(one_figure_ / lines_, 0.8) << "it is not always known so well";
}

TEST_F(TimeLeftOfPlans, WhereTheyScatterMoreARangeIsToldNearlyAlways) {
  run("interval", 1.2);
  EXPECT_GT(inside_ / lines_, 0.75);
  EXPECT_LT(one_figure_ / lines_, 0.15);
}

Job job_of(const std::string& point_id) {
  Job job;
  job.point_id = point_id;
  job.stopping.name = "duration";
  job.stopping.duration = 8'000'000'000;
  return job;
}

TEST(TimeEstimateOfJobs, BeforeAnyHasEndedTheLevelIsNotKnown) {
  const Job job = job_of("a");
  TimeEstimate estimate;
  EXPECT_FALSE(estimate.of({&job}).is_one_figure());
  estimate.took(job, 10);
  EXPECT_TRUE(estimate.of({&job}).is_one_figure());
  EXPECT_TRUE(TimeEstimate({{"a", 10}}).of({&job}).is_one_figure()) << "an earlier run knows";
  EXPECT_FALSE(TimeEstimate({{"b", 10}}).of({&job}).is_one_figure()) << "of another Point";
}

TEST(TimeEstimateOfJobs, OneThatFailsTellsNothingOfOthersNorOfRepeatsThatEnd) {
  const Job job = job_of("a"), other = job_of("b");
  TimeEstimate estimate;
  estimate.took(job, 10);
  const double before = estimate.of({&job, &other}).high;
  estimate.took(other, 0.2, true);
  EXPECT_DOUBLE_EQ(estimate.seconds(other), 0.2) << "its next repeat fails as soon";
  estimate.took(other, 10);
  EXPECT_LE(estimate.of({&job, &other}).high, before);
  EXPECT_DOUBLE_EQ(estimate.seconds(other), 10);
}

TEST(TimeEstimateOfJobs, MembersOfASetComeAllAtOnce) {
  const Job job = job_of("a");
  Job first = job_of("b"), second = job_of("c");
  std::vector<Point> points(2);
  join_tenants(points);
  first.point = points[0];
  second.point = points[1];
  TimeEstimate estimate;
  estimate.took(job, 10);
  const double before = estimate.of({&job}).high;
  estimate.took(first, 5);
  estimate.took(second, 1e-4);
  EXPECT_LE(estimate.of({&job}).high, before);
}

}  // namespace
}  // namespace deepgap
