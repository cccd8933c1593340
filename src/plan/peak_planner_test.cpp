#include "plan/peak_planner.h"

#include "record/record_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace deepgap {
namespace {

using testing::HasSubstr;

Job example_job(const std::string& scenario) {
  Job job;
  job.point.model = "resnet18";
  job.point.scenario = scenario;
  job.point.options = {{"bound", "p99=15ms"}, {"peak", "search"}};
  return job;
}

PeakOrder example_order(const std::string& scenario) {
  PeakOrder order;
  order.axis = *load_axis(scenario);
  order.settings.from = 32;
  order.settings.whole = order.axis.name != "rate";
  order.bound = "p99=15ms";
  order.limit_ms = 15;
  order.percentile_id = "latency_p99_ms";
  return order;
}

PeakPlanner planner_of(
    std::vector<Job> jobs, const PeakOrder& order, std::function<bool()> time_is_up = [] { return false; }) {
  return PeakPlanner(
      std::move(jobs), order, [](const Job&) { return "group"; }, std::move(time_is_up), [](const Job&, const Job&) {});
}

// Holds up to `peak`; every Job that was handed out.
std::vector<Job> drive(PeakPlanner& planner, double peak) {
  std::vector<Job> jobs;
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    EXPECT_EQ(batch.jobs.size(), 1u);
    jobs.push_back(batch.jobs.front());
    Record record;
    record.point = jobs.back().point;
    const bool held = *load_of(record.point) <= peak;
    record.verdict = held ? Verdict::valid : Verdict::invalid;
    record.reason = held ? "" : "p99 latency is 20 ms";
    record.estimates["latency_p99_ms"] = {held ? 10.0 : 20.0, held ? 9.0 : 19.0, held ? 11.0 : 21.0, 1000};
    planner.done(record);
  }
  return jobs;
}

TEST(PeakPlanner, EveryScenarioSearchesItsOwnLoad) {
  for (const std::string scenario : {"server", "constant", "multi-stream", "concurrency"}) {
    PeakPlanner planner = planner_of({example_job(scenario)}, example_order(scenario));
    const std::vector<Job> jobs = drive(planner, 100);
    ASSERT_EQ(planner.found().size(), 1u) << scenario;
    EXPECT_EQ(planner.found()[0].result.ending, PeakResult::Ending::confirmed);
    EXPECT_LE(planner.found()[0].result.load, 100);
    EXPECT_GE(planner.found()[0].result.load, 98);
    EXPECT_THAT(peak_text(planner.found()[0], example_order(scenario)), HasSubstr("hold p99=15ms: 5 of 5 runs did (with 97 % confidence"));
    std::set<std::pair<std::string, int>> ids;
    for (const Job& job : jobs) {
      EXPECT_EQ(job.point_id, point_id(job.point));
      EXPECT_TRUE(ids.emplace(job.point_id, job.repeat).second) << "each run is another record";
      EXPECT_EQ(job.point.options.at("peak"), job.peak_phase == "confirm" ? "confirm" : "search");
    }
    EXPECT_EQ(jobs.front().peak_phase, "bracket");
    EXPECT_EQ(jobs.back().peak_phase, "confirm");
  }
}

TEST(PeakPlanner, SearchesOneJobAfterTheOther) {
  PeakPlanner planner = planner_of({example_job("server"), example_job("constant")}, example_order("server"));
  EXPECT_EQ(planner.remaining(), 2u);
  drive(planner, 100);
  ASSERT_EQ(planner.found().size(), 2u);
  EXPECT_EQ(planner.found()[1].point.scenario, "constant");
  EXPECT_EQ(planner.remaining(), 0u);
}

TEST(PeakPlanner, SaysWhyThereIsNone) {
  PeakPlanner low = planner_of({example_job("server")}, example_order("server"));
  drive(low, 0.5);
  EXPECT_EQ(peak_text(low.found().at(0), example_order("server")),
            "no peak: p99=15ms is not held even at the lowest load, 1 queries a second: p99 latency is 20 ms");
  PeakPlanner crashed = planner_of({example_job("server")}, example_order("server"));
  crashed.next();
  Record record;
  record.outcome = Outcome::crashed;
  record.reason = "the worker ended";
  crashed.done(record);
  EXPECT_TRUE(crashed.next().jobs.empty());
  EXPECT_THAT(peak_text(crashed.found().at(0), example_order("server")),
              HasSubstr("no load was found that holds p99=15ms: crashed: the worker ended"));
}

TEST(PeakPlanner, EndsWithItsTime) {
  int asked = 0;
  PeakPlanner planner = planner_of({example_job("server")}, example_order("server"), [&] { return ++asked > 3; });
  EXPECT_EQ(drive(planner, 1000).size(), 3u);
  EXPECT_EQ(peak_text(planner.found().at(0), example_order("server")),
            "peak not confirmed: 128 queries a second held p99=15ms so far; the search ended early: the time allowed was over");
}

}  // namespace
}  // namespace deepgap
