#include "plan/peak_planner.h"

#include "record/record_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
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

SearchRun endless_run() {
  SearchRun run;
  run.group_key = [](const Job&) { return "group"; };
  run.time_used = [] { return 0.0; };
  run.announce = [](const Job&, const Job&) {};
  run.known = [](const Job&) { return std::nullopt; };
  return run;
}

PeakPlanner planner_of(std::vector<Job> jobs, const PeakOrder& order, SearchRun run = endless_run()) {
  return PeakPlanner(std::move(jobs), order, std::move(run));
}

Record played(const Job& job, double peak) {
  Record record;
  record.point = job.point;
  record.repeat = job.repeat;
  const bool held = *load_of(record.point) <= peak;
  record.verdict = held ? Verdict::valid : Verdict::invalid;
  record.reason = held ? "" : "p99 latency is 20 ms";
  record.estimates["latency_p99_ms"] = {held ? 10.0 : 20.0, held ? 9.0 : 19.0, held ? 11.0 : 21.0, 1000};
  return record;
}

// Holds up to `peak`; every Job that was handed out.
std::vector<Job> drive(PeakPlanner& planner, double peak) {
  std::vector<Job> jobs;
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    EXPECT_EQ(batch.jobs.size(), 1u);
    jobs.push_back(batch.jobs.front());
    planner.done(played(jobs.back(), peak));
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
    EXPECT_THAT(peak_text(planner.found()[0], example_order(scenario)), HasSubstr("meet p99=15ms: 5 of 5 runs did (with 97 % confidence"));
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

TEST(PeakPlanner, SearchesInShortWindowsInOneProcessAndConfirmsInWholeOnes) {
  constexpr Nanoseconds s = 1'000'000'000;
  PeakOrder order = example_order("server");
  order.decided_by = 100;
  Job job = example_job("server");
  job.stopping.name = "duration";
  job.stopping.duration = 10 * s;
  PeakPlanner planner = planner_of({job}, order);
  int confirming = 0;
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    const Job& run = batch.jobs.front();
    const double load = *load_of(run.point);
    const bool confirms = run.peak_phase == "confirm";
    confirming += confirms ? 1 : 0;
    EXPECT_EQ(batch.keeps_worker, !confirms);
    EXPECT_EQ(run.stopping.duration, confirms || load <= 200 ? 10 * s : load >= 1000 ? 2 * s : static_cast<Nanoseconds>(2000 / load * 1e9));
    planner.done(played(run, 5000));
  }
  EXPECT_EQ(confirming, 10);
}

// A search of one Job on a clock of its own: each run takes `around` seconds besides its window and a fifth of it.
struct TimedSearch {
  FoundPeak found;
  double seconds = 0;
  std::string text;
};
TimedSearch search_within(double budget_s, double around_s, double from, double peak) {
  PeakOrder order = example_order("server");
  order.decided_by = 459;
  order.settings.from = from;
  order.settings.lowest = 69;
  order.budget = static_cast<Nanoseconds>(budget_s * 1e9);
  Job job = example_job("server");
  job.stopping.name = "duration";
  job.stopping.duration = 10'000'000'000;
  TimedSearch search;
  SearchRun run = endless_run();
  run.time_used = [&] { return search.seconds / budget_s; };
  PeakPlanner planner = planner_of({job}, order, run);
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    const double took = around_s + 1.2e-9 * static_cast<double>(*batch.jobs[0].stopping.duration);
    search.seconds += took;
    Record record = played(batch.jobs[0], peak);
    record.windows = {{"steady", 0, *batch.jobs[0].stopping.duration}};
    planner.done(record);
  }
  search.found = planner.found().at(0);
  search.text = peak_text(search.found, order);
  return search;
}

TEST(PeakPlanner, ASearchSpendsItsBudgetSoThatItCanAnswer) {
  for (const double budget_s : {80.0, 120.0, 600.0}) {
    const TimedSearch search = search_within(budget_s, 0.5, 60'000, 50'000);
    EXPECT_EQ(search.found.result.ending, PeakResult::Ending::confirmed) << budget_s << ": " << search.text;
    EXPECT_LE(search.found.result.load, 50'000);
    EXPECT_GE(search.found.result.load, 0.97 * 50'000) << budget_s;
    EXPECT_LE(search.seconds, budget_s);
  }
  const TimedSearch slow = search_within(80, 3, 60'000, 50'000);
  EXPECT_EQ(slow.found.result.ending, PeakResult::Ending::confirmed) << slow.text;
  EXPECT_GE(slow.found.result.load, 0.97 * 50'000);
  const TimedSearch slower = search_within(80, 5, 60'000, 50'000);
  EXPECT_EQ(slower.found.result.ending, PeakResult::Ending::confirmed) << slower.text;
  EXPECT_GE(slower.found.result.load, 0.7 * 50'000);
  EXPECT_THAT(slower.text,
              testing::ContainsRegex("; [0-9.]+ % above, [0-9,]+, (runs of the search did not|0 of [0-9]+ did), and the time allowed "
                                     "was too short for a closer search"));
  const TimedSearch short_one = search_within(20, 0.5, 60'000, 50'000);
  EXPECT_EQ(short_one.found.result.ending, PeakResult::Ending::confirmed) << short_one.text;
  const TimedSearch far = search_within(20, 0.5, 5'000, 50'000);
  EXPECT_EQ(far.found.result.ending, PeakResult::Ending::confirmed) << far.text;
  const TimedSearch few_a_second = search_within(60, 0.5, 150, 120);
  EXPECT_EQ(few_a_second.found.result.ending, PeakResult::Ending::confirmed) << few_a_second.text;
  EXPECT_THAT(few_a_second.text, HasSubstr("3 of 3 runs did (with 88 % confidence"));
  EXPECT_THAT(few_a_second.text, testing::ContainsRegex("; the time allowed was over; --budget [0-9]+m should do$"));
  const TimedSearch too_short = search_within(20, 0.5, 150, 120);
  EXPECT_EQ(too_short.found.result.ending, PeakResult::Ending::gave_up) << too_short.text;
  EXPECT_LE(too_short.seconds, 13) << "it is known after the first runs";
  EXPECT_THAT(too_short.text, testing::ContainsRegex(
                                  "the time left is too short to confirm a load; if the SLO can be met, --budget [0-9]+(s|m) should do$"));
}

TEST(PeakPlanner, ASearchThatOverranSaysSo) {
  const TimedSearch search = search_within(20, 22, 60'000, 50'000);
  EXPECT_GT(search.seconds, 20) << "by its first run";
  EXPECT_THAT(search.text, testing::ContainsRegex("it took 1[0-9]+ % of its budget"));
}

// The first of three searches leaves the others their parts of the budget.
TEST(PeakPlanner, SearchesShareTheirBudget) {
  PeakOrder order = example_order("server");
  order.decided_by = 100;
  order.settings.lowest = 15;
  order.budget = 240'000'000'000;
  order.searches = 3;
  Job job = example_job("server");
  job.stopping.name = "duration";
  job.stopping.duration = 10'000'000'000;
  double seconds = 0;
  SearchRun run = endless_run();
  run.time_used = [&] { return seconds / 240; };
  PeakPlanner planner = planner_of({job, job, job}, order, run);
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    seconds += 1 + 1.2e-9 * static_cast<double>(*batch.jobs[0].stopping.duration);
    planner.done(played(batch.jobs[0], 5'000));
  }
  EXPECT_LE(seconds, 240);
  for (const FoundPeak& found : planner.found()) EXPECT_EQ(found.result.ending, PeakResult::Ending::confirmed) << peak_text(found, order);
}

TEST(PeakPlanner, TheLeastBudgetIsThatOfTheShortestRuns) {
  PeakOrder order = example_order("server");
  order.decided_by = 100;
  constexpr Nanoseconds s = 1'000'000'000;
  order.budget = 5 * s;
  EXPECT_EQ(least_peak_budget(order, 10 * s), 6 * s) << "two runs that look and three that confirm, 1 s each, with their leads";
  order.own_window = true;
  EXPECT_EQ(least_peak_budget(order, 10 * s), static_cast<Nanoseconds>(1.2 * (2 * 2 + 3 * 10) * 1e9));
}

TEST(PeakPlanner, RefiningRunsAreWholeAndOfTheirOwnAndTheTextSaysWhatTheyShow) {
  PeakOrder order = example_order("server");
  order.decided_by = 100;
  order.settings.allowed_share = 0.01;
  order.settings.interval = 0.02;
  Job job = example_job("server");
  job.stopping.name = "duration";
  job.stopping.duration = 10'000'000'000;
  PeakPlanner planner = planner_of({job}, order);
  std::mt19937_64 random(1);
  int refining = 0;
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    const Job& run = batch.jobs.front();
    const double load = *load_of(run.point), share = std::min(1.0, 0.01 * std::pow(load / 100, 5));
    Record record = played(run, 100);
    record.estimates["missed_share"] = {static_cast<double>(std::poisson_distribution<int>(1000 * share)(random)) / 1000, {}, {}, 1000};
    if (run.peak_phase == "refine") {
      ++refining;
      EXPECT_EQ(run.point.options.at("peak"), "refine");
      EXPECT_EQ(run.stopping.duration, 2 * *job.stopping.duration) << "a queue needs time to become as long as it usually is";
      EXPECT_FALSE(batch.keeps_worker);
    }
    planner.done(record);
  }
  EXPECT_GT(refining, 0);
  const FoundPeak& found = planner.found().at(0);
  EXPECT_EQ(found.result.ending, PeakResult::Ending::confirmed);
  EXPECT_NEAR(found.result.crossing->load, 100, 5);
  EXPECT_THAT(peak_text(found, order),
              testing::ContainsRegex("; [0-9]+ runs in all, by which it is just met at [0-9.]+ \\([0-9.]+ to [0-9.]+\\)$"));
}

TEST(PeakPlanner, AWindowThatWasChosenIsThatOfRefiningRunsToo) {
  PeakOrder order = example_order("server");
  Job job = example_job("server");
  job.stopping.duration = 10'000'000'000;
  const auto refining_window = [&] {
    Job run = job;
    set_peak_run(run, order, 100, PeakPhase::refine);
    return *run.stopping.duration;
  };
  EXPECT_EQ(refining_window(), 20'000'000'000);
  order.own_window = true;
  EXPECT_EQ(refining_window(), 10'000'000'000);
  order.own_window = false;
  order.budget = 600'000'000'000;
  EXPECT_EQ(refining_window(), 10'000'000'000) << "the search has to end in time";
}

// A step above that held in all runs until the time was over leaves open where the peak is.
TEST(PeakPlanner, TheTextSaysAtLeastWhereTheStepAboveHeldToo) {
  FoundPeak found;
  PeakResult& result = found.result;
  result.ending = PeakResult::Ending::confirmed;
  result.load = 100;
  result.held = result.runs = 5;
  result.above = 102;
  result.above_held = result.above_runs = 2;
  EXPECT_THAT(peak_text(found, example_order("server")), testing::StartsWith("peak: at least 100 "));
  EXPECT_THAT(peak_text(found, example_order("server")), testing::HasSubstr("102, 2 of 2 did, then the time allowed was over"));
  result.above_runs = 5;  // all were made, and one miss is enough
  result.above_held = 4;
  EXPECT_THAT(peak_text(found, example_order("server")), testing::StartsWith("peak: 100 "));
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
            "no peak: p99=15ms is not met even at the lowest load, 1 queries a second: p99 latency is 20 ms");
  PeakPlanner crashed = planner_of({example_job("server")}, example_order("server"));
  crashed.next();
  Record record;
  record.outcome = Outcome::crashed;
  record.reason = "the worker ended";
  crashed.done(record);
  EXPECT_TRUE(crashed.next().jobs.empty());
  EXPECT_THAT(peak_text(crashed.found().at(0), example_order("server")),
              HasSubstr("no load was found that meets p99=15ms: crashed: the worker ended"));
}

TEST(PeakPlanner, WhatCannotBeToldIsNeitherHeldNorMissed) {
  PeakPlanner planner = planner_of({example_job("multi-stream")}, example_order("multi-stream"));
  int64_t runs = 0;
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next(), ++runs) {
    Record record = played(batch.jobs.front(), 1000);
    if (*load_of(record.point) > 100) {
      record.verdict = Verdict::undecided;
      record.reason = "40 queries are too few";
      record.estimates.clear();
    }
    planner.done(record);
  }
  EXPECT_EQ(planner.found().at(0).result.ending, PeakResult::Ending::undecided);
  EXPECT_EQ(runs, 4) << "32, 64, and 128 twice";
  EXPECT_EQ(peak_text(planner.found()[0], example_order("multi-stream")),
            "no peak: not clear whether 128 samples a query meet p99=15ms: 40 queries are too few; 64 samples a query did");
}

TEST(PeakPlanner, OneRunThatCannotTellIsMadeAgain) {
  PeakPlanner planner = planner_of({example_job("multi-stream")}, example_order("multi-stream"));
  int64_t runs = 0;
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next(), ++runs) {
    Record record = played(batch.jobs.front(), 100);
    if (runs % 2 == 0) record.verdict = Verdict::undecided;
    planner.done(record);
  }
  EXPECT_EQ(planner.found().at(0).result.ending, PeakResult::Ending::confirmed);
  EXPECT_EQ(planner.found()[0].result.load, 100);
}

TEST(PeakPlanner, EndsWithItsTime) {
  int asked = 0;
  SearchRun run = endless_run();
  run.time_used = [&] { return ++asked > 3 ? 1.0 : 0.0; };
  PeakPlanner planner = planner_of({example_job("server")}, example_order("server"), run);
  EXPECT_EQ(drive(planner, 1000).size(), 3u);
  EXPECT_EQ(
      peak_text(planner.found().at(0), example_order("server")),
      "peak not confirmed: 128 queries a second met p99=15ms so far, in 1 of 1 runs; the search ended early: the time allowed was over");
}

// Cuts a search after so many runs; `play` says what each shows.
FoundPeak cut_after(int runs, const std::function<Record(const Job&)>& play) {
  int asked = 0;
  SearchRun run = endless_run();
  run.time_used = [&] { return ++asked > runs ? 1.0 : 0.0; };
  PeakPlanner planner = planner_of({example_job("multi-stream")}, example_order("multi-stream"), run);
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) planner.done(play(batch.jobs.front()));
  return planner.found().at(0);
}

// One hiccup makes a run that held an unclear one, and the search wants another: the table has it all the same.
TEST(PeakPlanner, TellsOfARunThatItWantedAgain) {
  const FoundPeak found = cut_after(2, [](const Job& job) {
    Record record = played(job, 1000);
    if (*load_of(job.point) > 32) record.estimates["latency_p99_ms"].high = 16;
    return record;
  });
  EXPECT_EQ(found.result.load, 64);
  EXPECT_EQ(
      peak_text(found, example_order("multi-stream")),
      "peak not confirmed: 64 samples a query met p99=15ms so far, in 1 of 1 runs; the search ended early: the time allowed was over");
  const FoundPeak only = cut_after(1, [](const Job& job) {
    Record record = played(job, 1000);
    record.estimates["latency_p99_ms"].high = 16;
    return record;
  });
  EXPECT_EQ(only.result.load, 32) << "the one run that there is";
}

// A candidate that was only just moved down to was not run.
TEST(PeakPlanner, TellsOfNoLoadThatDidNotHold) {
  for (int runs = 1; runs < 40; ++runs) {
    std::set<double> held{0};
    const FoundPeak found = cut_after(runs, [&](const Job& job) {
      const bool holds = job.peak_phase != "confirm" && *load_of(job.point) <= 1000;
      if (holds) held.insert(*load_of(job.point));
      return played(job, holds ? 1e9 : 0);
    });
    if (found.result.ending != PeakResult::Ending::gave_up) continue;  // its reason names the load that missed
    EXPECT_TRUE(held.contains(found.result.load)) << found.result.load << " after " << runs;
  }
}

// Whatever number of runs was made before, the rest is what it would have been.
TEST(PeakPlanner, GoesOnWhereItWasInterrupted) {
  PeakPlanner whole = planner_of({example_job("server"), example_job("constant")}, example_order("server"));
  const std::vector<Job> jobs = drive(whole, 100);
  for (const size_t before : {size_t{1}, size_t{9}, jobs.size() - 1, jobs.size()}) {
    std::map<std::pair<std::string, int>, Record> store;
    for (size_t i = 0; i < before; ++i) store[{jobs[i].point_id, jobs[i].repeat}] = played(jobs[i], 100);
    SearchRun run = endless_run();
    run.known = [&](const Job& job) -> std::optional<Record> {
      const auto found = store.find({job.point_id, job.repeat});
      return found == store.end() ? std::nullopt : std::optional(found->second);
    };
    PeakPlanner rest = planner_of({example_job("server"), example_job("constant")}, example_order("server"), run);
    EXPECT_EQ(drive(rest, 100).size(), jobs.size() - before);
    ASSERT_EQ(rest.found().size(), 2u);
    EXPECT_EQ(rest.found()[1].result.load, whole.found()[1].result.load);
  }
}

}  // namespace
}  // namespace deepgap
