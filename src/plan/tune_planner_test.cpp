#include "plan/tune_planner.h"

#include "record/point_option.h"
#include "record/record_json.h"
#include "record/tuning_mark.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace deepgap {
namespace {

// Four numbers of threads.
std::vector<Job> candidates(const std::string& scenario) {
  std::vector<Job> jobs;
  for (int threads = 1; threads <= 4; ++threads) {
    Job job;
    job.point.model = "resnet18";
    job.point.scenario = scenario;
    job.point.threads = threads;
    if (scenario == "server") job.point.options = {{"bound", "p99=15ms"}, {"rate", "30"}, {"peak", "search"}};
    jobs.push_back(job);
  }
  return jobs;
}

TuneOrder order_for(const std::string& scenario) {
  TuneOrder order;
  if (scenario != "server") return order;
  order.peak.emplace();
  order.peak->axis = *load_axis(scenario);
  order.peak->settings.from = 30;
  order.peak->settings.ratio = 0.05;
  order.peak->bound = "p99=15ms";
  order.peak->limit_ms = 15;
  order.peak->percentile_id = "latency_p99_ms";
  return order;
}

using Known = std::map<std::pair<std::string, int>, Record>;

SearchRun run_with(const Known& known) {
  SearchRun run;
  run.group_key = [](const Job&) { return "group"; };
  run.time_used = [] { return 0.0; };
  run.announce = [](const Job&, const Job&) {};
  run.known = [&known](const Job& job) -> std::optional<Record> {
    const auto found = known.find({job.point_id, job.repeat});
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
  return run;
}

// More threads are faster, 100 a second each, and four crash.
Record played(const Job& job) {
  Record record;
  record.point = job.point;
  record.repeat = job.repeat;
  const double speed = 100.0 * job.point.threads;
  if (job.point.threads == 4) {
    record.outcome = Outcome::crashed;
    record.reason = "the worker ended";
    return record;
  }
  const bool held = load_of(job.point).value_or(0) <= speed;
  record.verdict = held ? Verdict::valid : Verdict::invalid;
  record.estimates["throughput"] = {speed, 0.99 * speed, 1.01 * speed, 100};
  record.estimates["latency_p99_ms"] = {held ? 10.0 : 20.0, held ? 9.0 : 19.0, held ? 11.0 : 21.0, 1000};
  return record;
}

std::vector<Job> drive(TunePlanner& planner) {
  std::vector<Job> jobs;
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    jobs.push_back(batch.jobs.front());
    planner.done(played(jobs.back()));
  }
  return jobs;
}

TEST(TunePlanner, FindsTheBestForBothAims) {
  for (const std::string scenario : {"offline", "server"}) {
    const Known nothing;
    TunePlanner planner(candidates(scenario), order_for(scenario), run_with(nothing));
    const std::vector<Job> jobs = drive(planner);
    const TuneResult result = planner.tuned();
    EXPECT_EQ(result.configurations, 4u);
    EXPECT_EQ(result.tried, 4u);
    ASSERT_TRUE(result.confirmed()) << scenario;
    const Point& best = result.finalists[0].point;
    EXPECT_EQ(best.threads, 3);
    EXPECT_FALSE(best.options.contains(tuning_mark) || best.options.contains("peak"));
    EXPECT_EQ(best.options.contains("rate"), scenario == "server");
    std::set<std::pair<std::string, int>> ids;
    for (const Job& job : jobs) {
      EXPECT_EQ(job.point_id, point_id(job.point));
      EXPECT_TRUE(ids.emplace(job.point_id, job.repeat).second) << "each run is another record";
      EXPECT_EQ(option_of(job.point, "peak"), scenario == "server" ? option_of(job.point, tuning_mark) : "");
    }
    EXPECT_EQ(jobs.front().point.options.at(tuning_mark), "search");
    EXPECT_EQ(jobs.back().point.options.at(tuning_mark), "confirm");
  }
}

TEST(TunePlanner, GoesOnWhereItWasInterrupted) {
  for (const std::string scenario : {"offline", "server"}) {
    const Known nothing;
    TunePlanner whole(candidates(scenario), order_for(scenario), run_with(nothing));
    const std::vector<Job> jobs = drive(whole);
    for (const size_t before : {size_t{1}, jobs.size() / 2, jobs.size()}) {
      Known known;
      for (size_t i = 0; i < before; ++i) known[{jobs[i].point_id, jobs[i].repeat}] = played(jobs[i]);
      TunePlanner rest(candidates(scenario), order_for(scenario), run_with(known));
      EXPECT_EQ(drive(rest).size(), jobs.size() - before) << scenario;
      EXPECT_EQ(rest.tuned().finalists.at(0).point, whole.tuned().finalists.at(0).point);
    }
  }
}

}  // namespace
}  // namespace deepgap
