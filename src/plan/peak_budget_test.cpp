// Peak searches within a budget, on simulated systems whose runs scatter and take an unequal time around their windows: a search ends
// within its budget, with a confirmed load and the next one above that misses, or says early which budget would do. Seeds are fixed.
#include "plan/test_budgets.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace deepgap {
namespace {

// Returns the time that the shortest useful search takes: bracket, and five confirming runs in processes of their own.
double needed_s(const LoadedSystem& system, double budget_s) {
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

void count(Tally& tally, const LoadedSystem& system, double from, double budget_s, uint64_t seed) {
  const BudgetedSearch outcome = budgeted_search(system, from, budget_s, seed);
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
  ++tally.unnamed;
  const double named_s = named_budget_s(outcome.text);
  if (named_s == 0) return;
  tally.named += budgeted_search(system, from, named_s, seed + 1).found.result.ending == PeakResult::Ending::confirmed ? 1 : 0;
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
