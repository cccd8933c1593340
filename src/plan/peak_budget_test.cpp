// Peak searches within a budget, on simulated systems whose runs scatter and take an unequal time around their windows: a search ends
// within its budget, with a confirmed load and the next one above that misses, or says early which budget would do. Seeds are fixed.
#include "plan/peak_planner.h"

#include "plan/test_systems.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <regex>

namespace deepgap {
namespace {

// A system whose p99 is `limit` at `peak`: on the axis of rates a queue, on the axis of clients one whose latency grows with their number.
struct System {
  std::string scenario;
  double peak = 0, limit_ms = 10;
  double process_s = 0.5, between_s = 0.05, spread = 0.2;  // around a run's window, and the scatter of that
  double noise = 0.03;                                     // scatter of a run's p99
};

struct BudgetedSearch {
  FoundPeak found;
  double seconds = 0;
  std::string text;
};

double p99_share(const System& system, double load) {
  if (system.scenario == "concurrency") return load / (system.peak + 0.5);
  const double free_share = 0.05;  // share of the capacity at the peak; the p99 of M/M/1 is that over what is left free
  return load >= system.peak / (1 - free_share) ? 100 : free_share / (1 - load * (1 - free_share) / system.peak);
}

// One run on the simulated clock; `in_s` is what it took.
Record run_of(const Job& job, const System& system, const PeakOrder& order, RandomStream& random, bool starts_process, double& in_s) {
  const double load = *load_of(job.point), asked_s = static_cast<double>(*job.stopping.duration) / 1e9;
  const double share = p99_share(system, load) * std::exp(system.noise * normal_of(random));
  const bool held = share <= 1, closed = system.scenario == "concurrency";
  const double needed_s = closed ? order.told_by * std::min(share, 1.0) * system.limit_ms / 1e3 / load : 0;
  const double window_s = held ? std::max(asked_s, needed_s) : std::min(asked_s, share > 2 ? 0.1 * asked_s : asked_s);
  in_s = (starts_process ? system.process_s : system.between_s) * std::exp(system.spread * normal_of(random)) +
         (closed ? 0 : 0.2 * asked_s) + window_s;
  Record record;
  record.point = job.point;
  record.repeat = job.repeat;
  record.verdict = held ? Verdict::valid : Verdict::invalid;
  record.reason = held ? "" : "p99 latency is above the SLO";
  const double value = share * system.limit_ms;
  record.estimates["latency_p99_ms"] = {value, value * std::exp(-2 * system.noise), value * std::exp(2 * system.noise), 1000};
  record.windows = {{"steady", 0, static_cast<Nanoseconds>(window_s * 1e9)}};
  return record;
}

BudgetedSearch search(const System& system, double from, double budget_s, uint64_t seed) {
  PeakOrder order;
  order.axis = *load_axis(system.scenario);
  order.bound = "p99=10ms";
  order.limit_ms = system.limit_ms;
  order.percentile_id = "latency_p99_ms";
  order.told_by = 100;
  order.settings.whole = order.axis.name != "rate";
  order.settings.lowest = order.settings.whole ? 1 : 15;
  order.settings.from = from;
  order.budget = static_cast<Nanoseconds>(budget_s * 1e9);
  Job job;
  job.point.scenario = system.scenario;
  job.point.options = {{"bound", order.bound}, {"peak", "search"}};
  job.stopping.name = "duration";
  job.stopping.duration = 10'000'000'000;
  BudgetedSearch outcome;
  RandomStream random(seed, "budget");
  bool runs_process = false;
  const SearchRun run{[](const Job&) { return "group"; }, [&] { return outcome.seconds / budget_s; }, [](const Job&, const Job&) {},
                      [](const Job&) { return std::nullopt; }};
  PeakPlanner planner({job}, order, run);
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    double took_s = 0;
    const Record record = run_of(batch.jobs[0], system, order, random, !runs_process, took_s);
    runs_process = batch.keeps_worker;
    outcome.seconds += took_s;
    planner.done(record);
  }
  outcome.found = planner.found().at(0);
  outcome.text = peak_text(outcome.found, order);
  return outcome;
}

// Returns the time that the shortest useful search takes: bracket, and five confirming runs in processes of their own.
double needed_s(const System& system, double budget_s) {
  const double window_s =
      system.scenario == "concurrency"
          ? std::max(1.0, budget_s / 60)
          : std::clamp(std::max({1.0, budget_s / 60, std::min(2000 / system.peak, budget_s / 30), 150 / system.peak}), 1.0, 10.0);
  return 8 * (1.2 * window_s + system.between_s) + 7 * (1.2 * window_s + 1.3 * system.process_s);
}

struct Tally {
  int searches = 0, over = 0, feasible = 0, confirmed = 0, near = 0, named = 0, unnamed = 0;
  std::string without_answer{};  // those with enough time
};

void count(Tally& tally, const System& system, double from, double budget_s, uint64_t seed) {
  const BudgetedSearch outcome = search(system, from, budget_s, seed);
  ++tally.searches;
  tally.over += outcome.seconds > budget_s ? 1 : 0;
  const bool confirmed = outcome.found.result.ending == PeakResult::Ending::confirmed;
  if (needed_s(system, budget_s) <= budget_s) {
    ++tally.feasible;
    tally.confirmed += confirmed ? 1 : 0;
    if (!confirmed)
      tally.without_answer += fmt::format("\npeak {} from {} within {} s, processes of {} s, seed {}: {} after {:.1f} s", system.peak, from,
                                          budget_s, system.process_s, seed, outcome.text, outcome.seconds);
    tally.near += confirmed && outcome.found.result.load >= system.peak / 1.05 && outcome.found.result.load <= system.peak * 1.03 ? 1 : 0;
  }
  if (confirmed || outcome.found.result.ending != PeakResult::Ending::gave_up) return;
  std::smatch match;
  const std::regex budget("--budget ([0-9]+)(s|m) should do");
  ++tally.unnamed;
  if (!std::regex_search(outcome.text, match, budget)) return;
  const double named_s = std::stod(match[1]) * (match[2] == "m" ? 60 : 1);
  tally.named += search(system, from, named_s, seed + 1).found.result.ending == PeakResult::Ending::confirmed ? 1 : 0;
}

void report(const char* what, const Tally& tally) {
  std::printf(
      "%s: %d searches, %d over their budget; of %d with enough time %d confirmed, %d near the peak; %d of %d named a budget that did\n",
      what, tally.searches, tally.over, tally.feasible, tally.confirmed, tally.near, tally.named, tally.unnamed);
}

void expect_kept(const Tally& tally) {
  EXPECT_LE(tally.over, tally.searches / 100);
  EXPECT_GE(tally.confirmed, 0.98 * tally.feasible) << tally.without_answer;
  EXPECT_GE(tally.named, 0.95 * tally.unnamed);
}

TEST(PeakBudget, RatesWithinAnyBudget) {
  Tally tally;
  uint64_t seed = 0;
  for (const double peak : {40.0, 300.0, 5e3, 7e4, 1e6})
    for (const double from : {30.0, 0.3 * peak, 1.2 * peak, 20 * peak})
      for (const double budget_s : {20.0, 80.0, 300.0, 1200.0})
        for (const double process_s : {0.3, 1.5, 6.0})
          for (const double noise : {0.01, 0.1}) count(tally, {"server", peak, 10, process_s, 0.05, 0.2, noise}, from, budget_s, ++seed);
  report("rates", tally);
  expect_kept(tally);
}

TEST(PeakBudget, ClientsWithinAnyBudget) {
  Tally tally;
  uint64_t seed = 1'000'000;
  for (const double peak : {1.0, 6.0, 40.0, 900.0})
    for (const double from : {1.0, std::ceil(1.5 * peak), 8 * peak})
      for (const double budget_s : {20.0, 80.0, 300.0})
        for (const double process_s : {0.3, 1.5, 6.0})
          for (const double limit_ms : {5.0, 100.0})
            count(tally, {"concurrency", peak, limit_ms, process_s, 0.05, 0.2, 0.02}, from, budget_s, ++seed);
  report("clients", tally);
  expect_kept(tally);
}

}  // namespace
}  // namespace deepgap
