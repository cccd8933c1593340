// Compares two interleaved engines on a machine where somebody else works now and then, by the undisturbed parts of their time slices.
// Each engine has one of two minutes.
#include "comparisons.h"
#include "simulated_run.h"

#include "analysis/disturbed_machine.h"
#include "analysis/duel/duel_score.h"
#include "analysis/duel/undisturbed_ratio.h"
#include "stats/test_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr double each_s = 60, margin = 0.02;

struct Row {
  std::string name;
  Disturber disturber;
  std::function<QuerySource(Random&, double mean)> queries;
  double query_s = 0.05;
};

std::vector<Row> rows() {
  const auto white = [](Random& r, double mean) { return white_source(r, mean, 0.05); };
  const auto lognormal = [](Random& r, double mean) { return lognormal_source(r, mean, 0.3); };
  const Disturber half{.quiet_s = 0.5, .busy_s = 0.5}, most{.quiet_s = 0.2, .busy_s = 0.8}, long_ones{.quiet_s = 2, .busy_s = 8};
  const Disturber elsewhere{.quiet_s = 1, .busy_s = 1, .keeps = 0.8, .waits = 0, .chills_s = 0}, always{.quiet_s = 0, .busy_s = 1};
  return {{"nobody, 50 ms", {.quiet_s = 1, .busy_s = 0}, white},
          {"half of the time, 5 ms", half, white, 0.005},
          {"half of the time, 50 ms", half, white},
          {"half of the time, 50 ms, lognormal 0.3", half, lognormal},
          {"half of the time, 50 ms, AR(1) 0.9", half, [](Random& r, double mean) { return ar1_source(r, mean, 0.05, 0.9); }},
          {"four fifths of the time, 50 ms", most, white},
          {"four fifths of the time, 8 s at a time, 50 ms", long_ones, white},
          {"half of the time, on another CPU, 20 % slower, 50 ms", elsewhere, white},
          {"half of the time, 200 ms", half, white, 0.2},
          {"all of the time, 50 ms", always, white}};
}

Record measured(const Row& row, Random& random, double query_s) {
  const QuerySource source = row.queries(random, query_s);
  return DisturbedMachine(random, row.disturber).measure([&source] { return source.next(0); }, each_s);
}

struct Counts {
  int answers = 0, covers = 0, right = 0, wrong = 0;
  std::vector<double> off, widths;
};

Counts compared(const Row& row, Random& random, double truth, int series) {
  Counts counts;
  for (int i = 0; i < series; ++i) {
    const Record first = measured(row, random, row.query_s), other = measured(row, random, row.query_s / truth);
    const auto ratio = undisturbed_ratio(first, other, default_confidence);
    if (!ratio) continue;
    ++counts.answers;
    counts.covers += *ratio->low <= truth && truth <= *ratio->high ? 1 : 0;
    counts.off.push_back((ratio->value / truth - 1) * 100);
    counts.widths.push_back((*ratio->high - *ratio->low) / 2 / ratio->value * 100);
    const Difference said = difference_of({*ratio->low, *ratio->high}, margin);
    const Difference right = truth == 1 ? Difference::same : Difference::more;
    counts.right += said == right ? 1 : 0;
    counts.wrong += said != right && said != Difference::unknown ? 1 : 0;
  }
  return counts;
}

}  // namespace

void print_undisturbed_ratio(int series) {
  fmt::print("\nTwo interleaved engines for two minutes, by the undisturbed parts of their time slices, {} comparisons a cell\n", series);
  fmt::print(
      "| somebody works, a query takes | true ratio | answers, % | of these cover, % | off by, % (median) | half-width, % (median) | "
      "decides "
      "rightly, % of answers | wrongly, % |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 6400;
  for (const Row& row : rows()) {
    for (const double truth : {1.0, 1.05}) {
      Random random(++seed);
      const Counts found = compared(row, random, truth, series);
      const auto of_answers = [&](int part) {
        return found.answers * 50 < series ? std::string("-") : fmt::format("{:.1f}", percent(part, found.answers));
      };
      const auto median = [&](const std::vector<double>& values) {
        return values.size() * 50 < static_cast<size_t>(series) ? std::string("-") : fmt::format("{:.2f}", median_of(values));
      };
      fmt::print("| {} | {:g} | {:.1f} | {} | {} | {} | {} | {} |\n", row.name, truth, percent(found.answers, series),
                 of_answers(found.covers), median(found.off), median(found.widths), of_answers(found.right), of_answers(found.wrong));
      std::fflush(stdout);
    }
  }
}

}  // namespace deepgap
