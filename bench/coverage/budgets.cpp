// Peak searches within a budget (plan/test_budgets.h): whether they end in time and with an answer, and whether the loads between which
// they place the peak hold it. The peak is the load that half of the runs meet. Fixed seeds.
#include "searches.h"
#include "simulated_run.h"

#include "plan/test_budgets.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

namespace deepgap {
namespace {

struct Row {
  std::string name;
  LoadedSystem system;
  double from = 0, budget_s = 0;
};

std::string share_text(int part, int whole) { return whole == 0 ? "-" : fmt::format("{:.1f}", percent(part, whole)); }

bool is_confirmed(const BudgetedSearch& outcome) { return outcome.found.result.ending == PeakResult::Ending::confirmed; }

void print_row(const Row& row, int series, uint64_t seed) {
  int in_time = 0, confirmed = 0, brackets = 0, hold = 0, without = 0, named = 0;
  std::vector<double> off, widths, used;
  for (int i = 0; i < series; ++i) {
    const uint64_t own_seed = seed * 100'000 + static_cast<uint64_t>(i);
    const BudgetedSearch outcome = budgeted_search(row.system, row.from, row.budget_s, own_seed);
    const PeakResult& result = outcome.found.result;
    in_time += outcome.seconds <= row.budget_s ? 1 : 0;
    used.push_back(100 * outcome.seconds / row.budget_s);
    if (!is_confirmed(outcome)) {
      ++without;
      const double named_s = named_budget_s(outcome.text);
      named += named_s > 0 && is_confirmed(budgeted_search(row.system, row.from, named_s, own_seed + 50'000)) ? 1 : 0;
      continue;
    }
    ++confirmed;
    off.push_back(100 * (result.load / row.system.peak - 1));
    const bool misses_above = result.above_runs > 0 ? 2 * result.above_held < result.above_runs : result.above_missed;
    if (result.above == 0 || !misses_above) continue;
    ++brackets;
    hold += result.load <= row.system.peak && row.system.peak < result.above ? 1 : 0;
    widths.push_back(100 * (result.above / result.load - 1));
  }
  const auto median_text = [](const std::vector<double>& values) {
    return values.empty() ? std::string("-") : fmt::format("{:.1f}", median_of(values));
  };
  fmt::print("| {} | {:g} | {:g} | {} | {} | {} | {} | {} | {} | {} | {:.0f} |\n", row.name, row.system.process_s, row.budget_s,
             share_text(in_time, series), share_text(confirmed, series), share_text(brackets, series), share_text(hold, brackets),
             median_text(widths), median_text(off), share_text(named, without), median_of(used));
  std::fflush(stdout);
}

}  // namespace

void print_budgets(int series) {
  fmt::print("\nSearches for the load that half of the runs meet, within a budget, {} a row\n", series);
  fmt::print(
      "| peak, scatter of a run's p99 | a process takes, s | budget, s | ends within it, % | confirmed, % | places the peak between two "
      "loads, "
      "% | of these hold it, % | apart, % (median) | load off by, % (median) | else names a budget that suffices, % of these | budget "
      "used, % "
      "(median) |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  std::vector<Row> rows;
  const auto rates = [](double peak, double noise, double process_s) {
    return LoadedSystem{"server", peak, 10, process_s, 0.05, 0.2, noise};
  };
  for (const double budget_s : {20.0, 60.0, 300.0, 1200.0}) {
    rows.push_back({"300/s, 3 %", rates(300, 0.03, 0.5), 30, budget_s});
    rows.push_back({"300/s, 10 %", rates(300, 0.1, 0.5), 30, budget_s});
    rows.push_back({"50,000/s, 3 %", rates(5e4, 0.03, 6), 6e4, budget_s});
    rows.push_back({"90,000/s, 5 %, each run loads", {"server", 9e4, 10, 8, 8, 0.2, 0.05}, 8.8e4, budget_s});
    rows.push_back({"40 clients, 3 %", {"concurrency", 40, 10, 1.5, 0.05, 0.2, 0.03}, 1, budget_s});
  }
  uint64_t seed = 9800;
  for (const Row& row : rows) print_row(row, series, ++seed);
}

}  // namespace deepgap
