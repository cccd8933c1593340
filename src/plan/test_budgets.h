// Peak searches within a budget, on simulated systems whose runs scatter and take an unequal time around their windows. For the tests here
// and for bench/coverage.
#pragma once

#include "plan/peak_planner.h"
#include "plan/test_systems.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <regex>
#include <string>

namespace deepgap {

// A system whose p99 is `limit` at `peak`: on the axis of rates a queue, on the axis of clients one whose latency grows with their number.
struct LoadedSystem {
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

inline double p99_share(const LoadedSystem& system, double load) {
  if (system.scenario == "concurrency") return load / (system.peak + 0.5);
  const double free_share = 0.05;  // share of the capacity at the peak; the p99 of M/M/1 is that over what is left free
  return load >= system.peak / (1 - free_share) ? 100 : free_share / (1 - load * (1 - free_share) / system.peak);
}

// One run on the simulated clock; `in_s` is what it took.
inline Record loaded_run(const Job& job, const LoadedSystem& system, const PeakOrder& order, RandomStream& random, bool starts_process,
                         double& in_s) {
  const double load = *load_of(job.point), asked_s = static_cast<double>(*job.stopping.duration) / 1e9;
  const double share = p99_share(system, load) * std::exp(system.noise * normal_of(random));
  const bool held = share <= 1, closed = system.scenario == "concurrency";
  const double needed_s = closed ? order.decided_by * std::min(share, 1.0) * system.limit_ms / 1e3 / load : 0;
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

inline BudgetedSearch budgeted_search(const LoadedSystem& system, double from, double budget_s, uint64_t seed) {
  PeakOrder order;
  order.axis = *load_axis(system.scenario);
  order.bound = "p99=10ms";
  order.limit_ms = system.limit_ms;
  order.percentile_id = "latency_p99_ms";
  order.decided_by = 100;
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
    const Record record = loaded_run(batch.jobs[0], system, order, random, !runs_process, took_s);
    runs_process = batch.keeps_worker;
    outcome.seconds += took_s;
    planner.done(record);
  }
  outcome.found = planner.found().at(0);
  outcome.text = peak_text(outcome.found, order);
  return outcome;
}

// Returns the budget that the text of a search without an answer names; 0: it names none.
inline double named_budget_s(const std::string& text) {
  std::smatch match;
  const std::regex budget("--budget ([0-9]+)(s|m) should do");
  return std::regex_search(text, match, budget) ? std::stod(match[1]) * (match[2] == "m" ? 60 : 1) : 0;
}

}  // namespace deepgap
