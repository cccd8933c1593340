// Estimates an engine's undisturbed speed on a machine where somebody else works now and then: does the choice of slices mislead?
#include "comparisons.h"
#include "simulated_run.h"

#include "analysis/disturbed_machine.h"
#include "analysis/metric.h"
#include "stats/test_sources.h"

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace deepgap {
namespace {

struct Row {
  std::string name;
  Disturber disturber;
  std::function<QuerySource(Random&)> queries;
};

std::vector<Row> rows() {
  const auto white = [](double mean) { return [mean](Random& r) { return white_source(r, mean, 0.05); }; };
  const auto lognormal = [](double mean) { return [mean](Random& r) { return lognormal_source(r, mean, 0.3); }; };
  const Disturber half{.quiet_s = 0.5, .busy_s = 0.5}, most{.quiet_s = 0.2, .busy_s = 0.8}, short_ones{.quiet_s = 0.2, .busy_s = 0.02};
  const Disturber elsewhere{.quiet_s = 1, .busy_s = 1, .keeps = 0.8, .waits = 0, .chills_s = 0};
  const Disturber always{.quiet_s = 0, .busy_s = 1};
  return {{"nobody, 5 ms", {.quiet_s = 1, .busy_s = 0}, white(0.005)},
          {"half of the time, 5 ms", half, white(0.005)},
          {"half of the time, 5 ms, lognormal 0.3", half, lognormal(0.005)},
          {"half of the time, 5 ms, AR(1) 0.9", half, [](Random& r) { return ar1_source(r, 0.005, 0.05, 0.9); }},
          {"half of the time, 50 ms", half, white(0.05)},
          {"half of the time, 50 ms, lognormal 0.3", half, lognormal(0.05)},
          {"half of the time, 200 ms", half, white(0.2)},
          {"half of the time, 200 ms, lognormal 0.3", half, lognormal(0.2)},
          {"four fifths of the time, 5 ms", most, white(0.005)},
          {"four fifths of the time, 50 ms, lognormal 0.3", most, lognormal(0.05)},
          {"20 ms every 0.2 s, 5 ms, lognormal 0.3", short_ones, lognormal(0.005)},
          {"20 ms every 0.2 s, 50 ms, lognormal 0.3", short_ones, lognormal(0.05)},
          {"half of the time, on another CPU, 20 % slower, 5 ms", elsewhere, white(0.005)},
          {"all of the time, 5 ms", always, white(0.005)}};
}

}  // namespace

void print_undisturbed(int series) {
  fmt::print(
      "\nWindows of 10 s on two CPUs. Other work takes one of them for random stretches and leaves cold caches for 3 ms; {} windows a "
      "row\n",
      series);
  fmt::print(
      "| somebody works, a query takes | answers, % | of these cover the throughput, % | off by, % (median) | half-width, % | of these "
      "cover the median latency, % | "
      "observed off by, % (median) | share of time undisturbed, % (median) |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 9500;
  for (const Row& row : rows()) {
    Random random(++seed);
    int answers = 0, covers = 0, median_covers = 0;
    std::vector<double> off, widths, observed, shares;
    for (int i = 0; i < series; ++i) {
      const QuerySource source = row.queries(random);
      double now = 0;
      const Record record = DisturbedMachine(random, row.disturber).measure([&] { return source.next(now); }, 10);
      const double truth = 1 / source.mean;
      observed.push_back(100 *
                         (static_cast<double>(record.timings.size()) / (static_cast<double>(record.windows[0].end) / 1e9) / truth - 1));
      const auto share = find_metric("undisturbed_share")->compute(record);
      shares.push_back(share ? 100 * share->value : 0);
      const auto found = find_metric("throughput_undisturbed")->compute(record);
      if (!found) continue;
      ++answers;
      covers += holds(*found, truth) ? 1 : 0;
      median_covers += holds(*find_metric("latency_p50_undisturbed_ms")->compute(record), source.median * 1e3) ? 1 : 0;
      off.push_back(100 * (found->value / truth - 1));
      if (found->low) widths.push_back(100 * (*found->high - *found->low) / 2 / found->value);
    }
    const auto of_answers = [&](int count) { return answers * 50 < series ? "-" : fmt::format("{:.1f}", percent(count, answers)); };
    const auto value = [&](const std::vector<double>& values) {
      return answers * 50 < series ? "-" : fmt::format("{:.2f}", median_of(values));
    };
    fmt::print("| {} | {:.1f} | {} | {} | {} | {} | {:.1f} | {:.0f} |\n", row.name, percent(answers, series), of_answers(covers),
               value(off), value(widths), of_answers(median_covers), median_of(observed), median_of(shares));
    std::fflush(stdout);
  }
}

}  // namespace deepgap
