// Gates `compare --fail-if-slower 2%`: how often they fail, pass and have not enough data, and whether the repeats that they name then
// suffice. By Records and the classes that compare them. Fixed seeds.
#include "comparisons.h"
#include "simulated_run.h"

#include "analysis/compare/compare_results.h"
#include "analysis/results.h"
#include "stats/multiple.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr double margin = 0.02;
constexpr int usual_repeats = 5;

// Applies the former rule: a difference is tested for, and the ratio seen is held against the margin.
bool failed_before(const ResultsComparison& found) {
  std::vector<double> p_values;
  for (const PointChange& point : found.points) p_values.push_back(point.comparison.repeats.p_value());
  const std::vector<double> adjusted = holm_adjusted(p_values);
  for (size_t i = 0; i < found.points.size(); ++i) {
    if (std::log(found.points[i].comparison.ratio) < -std::log1p(margin) && adjusted[i] < 1 - default_confidence) return true;
  }
  return false;
}

// Gates of one kind: how many of their points are slower, and by how much.
struct GateRow {
  double slower = 0;
  int points = 10;
  double process = 0;       // scatter of each point's repeats
  int slower_points = 10;   // the others are equal
  double whole_repeat = 0;  // scatter of all points of a repeat together
};

struct GateCounts {
  int before = 0, fails = 0, open = 0;
};

// Calls `use` with what is compared.
template <typename Use>
void with_gate(const GateRow& row, int repeats, Random& random, Use use) {
  std::normal_distribution<double> normal;
  ResultsCollector a, b;
  std::vector<double> of_a(repeats, 100), of_b(repeats, 100);
  for (int repeat = 0; repeat < repeats && row.whole_repeat > 0; ++repeat) {
    of_a[repeat] *= std::exp(row.whole_repeat * normal(random));
    of_b[repeat] *= std::exp(row.whole_repeat * normal(random));
  }
  for (int64_t batch = 1; batch <= row.points; ++batch) {
    const double factor = batch <= row.slower_points ? 1 / (1 + row.slower) : 1;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      a.add(repeat_of(random, of_a[repeat], row.process, false, repeat, batch, "a"));
      b.add(repeat_of(random, of_b[repeat] * factor, row.process, false, repeat, batch, "b"));
    }
  }
  const Results first = a.results(), second = b.results();
  use(compare_results(first, second, {}));
}

GateCounts count_gates(const GateRow& row, int series, Random& random) {
  GateCounts counts;
  for (int i = 0; i < series; ++i) {
    with_gate(row, usual_repeats, random, [&](const ResultsComparison& found) {
      const GateResult gate = judge_gate(found, {}, margin);
      counts.before += failed_before(found) ? 1 : 0;
      counts.fails += gate.gate == Gate::slower ? 1 : 0;
      counts.open += gate.gate == Gate::not_enough_data ? 1 : 0;
    });
  }
  return counts;
}

void print_gate_row(const std::string& first_cells, const GateRow& row, int series, uint64_t seed) {
  Random random(seed);
  const GateCounts counts = count_gates(row, series, random);
  fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", first_cells, percent(counts.before, series), percent(counts.fails, series),
             percent(counts.open, series), percent(series - counts.fails - counts.open, series));
  std::fflush(stdout);
}

void print_gates(int series) {
  fmt::print("\nGates `--fail-if-slower 2%`, all their points slower by so much, 5 repeats of each side in runs apart, {} gates a row\n",
             series);
  fmt::print(
      "| slower by | points | processes apart | simpler rule: fails, % | fails, % | not enough data, % | passes, % |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 41'200;
  for (const auto& [slower, points, process] : {std::tuple(0.0, 10, 0.005),
                                                {0.0, 10, 0.01},
                                                {0.015, 10, 0.005},
                                                {0.015, 10, 0.01},
                                                {0.019, 10, 0.005},
                                                {0.019, 40, 0.005},
                                                {0.03, 10, 0.003},
                                                {0.03, 10, 0.005},
                                                {0.03, 10, 0.01},
                                                {0.05, 10, 0.01},
                                                {0.03, 1, 0.005},
                                                {0.03, 1, 0.01}})
    print_gate_row(fmt::format("{:g} % | {} | {:g} %", 100 * slower, points, 100 * process), {slower, points, process, points}, series,
                   ++seed);
}

void print_other_gates(int series) {
  fmt::print("\nLikewise, gates of ten points, some of them slower by so much; whole repeats, with all their points, scatter too\n");
  fmt::print(
      "| slower by | points that are slower | processes apart | whole repeats apart | simpler rule: fails, % | fails, % | not enough data, "
      "% "
      "| passes, % |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 41'250;
  for (const auto& [slower, slower_points, process, whole] : {std::tuple(0.019, 1, 0.005, 0.0),
                                                              {0.03, 1, 0.005, 0.0},
                                                              {0.05, 1, 0.005, 0.0},
                                                              {0.05, 1, 0.01, 0.0},
                                                              {0.019, 10, 0.005, 0.01},
                                                              {0.03, 10, 0.005, 0.01},
                                                              {0.05, 10, 0.005, 0.01}})
    print_gate_row(fmt::format("{:g} % | {} | {:g} % | {:g} %", 100 * slower, slower_points, 100 * process, 100 * whole),
                   {slower, 10, process, slower_points, whole}, series, ++seed);
}

// Gates that had not enough data, made again with as many repeats as they named.
void print_named_repeats(int series) {
  fmt::print(
      "\nGates without enough data, and gates of ten points with as many repeats as those named, at most 300 (enough in 80 % of cases is "
      "meant), {} a "
      "row\n",
      series);
  fmt::print(
      "| slower by | points that are slower | processes apart | repeats | not enough data, % | repeats named, median | then right, % of "
      "these | then "
      "wrong, % of these |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 41'280;
  for (const auto& [slower, slower_points, process, repeats] : {std::tuple(0.0, 10, 0.01, 5),
                                                                {0.0, 10, 0.02, 10},
                                                                {0.01, 10, 0.01, 5},
                                                                {0.03, 10, 0.02, 5},
                                                                {0.04, 1, 0.01, 5},
                                                                {0.05, 1, 0.02, 5}}) {
    Random random(++seed);
    const GateRow row{slower, 10, process, slower_points};
    const Gate truth = slower > margin ? Gate::slower : Gate::held;
    int open = 0, right = 0, wrong = 0;
    std::vector<double> named;
    for (int i = 0; i < series; ++i) {
      size_t needed = 0;
      with_gate(row, repeats, random, [&](const ResultsComparison& found) { needed = judge_gate(found, {}, margin).needs_repeats; });
      if (needed == 0) continue;
      ++open;
      named.push_back(static_cast<double>(needed));
      constexpr size_t most_made = 300;  // a reader would hardly make more
      with_gate(row, static_cast<int>(std::min(needed, most_made)), random, [&](const ResultsComparison& found) {
        const Gate gate = judge_gate(found, {}, margin).gate;
        right += gate == truth ? 1 : 0;
        wrong += gate != truth && gate != Gate::not_enough_data ? 1 : 0;
      });
    }
    fmt::print("| {:g} % | {} | {:g} % | {} | {:.1f} | {:.0f} | {:.1f} | {:.1f} |\n", 100 * slower, slower_points, 100 * process, repeats,
               percent(open, series), median_of(named), percent(right, open), percent(wrong, open));
    std::fflush(stdout);
  }
}

}  // namespace

void print_all_gates(int series) {
  print_gates(std::max(1, series / 10));
  print_other_gates(std::max(1, series / 10));
  print_named_repeats(std::max(1, series / 10));
}

}  // namespace deepgap
