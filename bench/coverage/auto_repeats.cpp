// `--repeats auto`: as many repeats as it takes, whose windows end at the interval that is worth while, so that their lengths differ.
// Beside it the same with windows that are all asked for the Point's own interval. The planner and the two levels of the interval are the
// real ones; a run is its process's own speed, a mean as uncertain as its window is short, and an interval that it knows by 31 degrees of
// freedom, as batch means do.
#include "comparisons.h"

#include "plan/auto_repeats.h"
#include "simulated_run.h"

#include "analysis/comparison.h"
#include "analysis/point_summary.h"
#include "record/identity.h"
#include "record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr double asked = 0.01, truth = 100, shortest_s = 0.5, longest_s = 30, normal_95 = 1.959964;

struct Row {
  double between = 0;     // scatter of processes
  double second = 0;      // scatter of a mean over a window of a second
  double overhead_s = 2;  // beside the window; less where Points share a process
};

// Load and warm-up, then the window that `interval` takes.
Record run_of(Random& random, const Row& row, const Job& job, double interval) {
  std::normal_distribution<double> normal;
  std::chi_squared_distribution<double> known(31);
  const double second = row.second * std::sqrt(known(random) / 31);
  const double shortest = job.stopping.duration ? static_cast<double>(*job.stopping.duration) / 1e9 : shortest_s;
  const double window = std::clamp(std::pow(normal_95 * second / interval, 2), shortest, longest_s);
  const double value = truth * std::exp(row.between * normal(random)) * (1 + row.second / std::sqrt(window) * normal(random));
  const double half = value * normal_95 * second / std::sqrt(window);
  const auto begin = static_cast<Nanoseconds>(row.overhead_s * 1e9), end = static_cast<Nanoseconds>((row.overhead_s + window) * 1e9);
  Record record;
  record.point = job.point;
  record.repeat = job.repeat;
  record.stopping = job.stopping;
  record.verdict = window < 2 ? Verdict::as_found : Verdict::valid;
  record.estimates["throughput"] = {value, value - half, value + half, 1000};
  record.windows = {{"load", 0, begin / 2}, {"warm_up", begin / 2, begin}, {"steady", begin, end}};
  return record;
}

// `all_alike`: every run is asked for what the Point is.
std::vector<Record> measured(Random& random, const Row& row, bool all_alike) {
  Job job;
  job.point.model = "a";
  job.point_id = point_id(job.point);
  job.stopping.interval = asked;
  job.stopping.duration = 2'000'000'000;
  job.own_window = true;
  std::vector<Job> jobs;
  for (job.repeat = 0; job.repeat < most_auto_repeats; ++job.repeat) jobs.push_back(job);
  AutoRepeats planner(make_grid_planner(std::move(jobs), 1, [](const Job& each) { return each.point_id; }, {}), [] { return false; });
  std::vector<Record> records;
  for (Batch batch = planner.next(); !batch.jobs.empty(); batch = planner.next()) {
    for (const Job& each : batch.jobs) {
      records.push_back(run_of(random, row, each, all_alike ? asked : each.stopping.interval));
      planner.done(records.back());
    }
  }
  return records;
}

struct Told {
  int covered = 0, apart = 0;
  double repeats = 0, seconds = 0;
  std::vector<double> widths;
};

Told told_of(Random& random, const Row& row, bool all_alike, int series) {
  // The mean of processes whose logarithms scatter.
  const double kind = truth * std::exp(row.between * row.between / 2);
  Told told;
  for (int i = 0; i < series; ++i) {
    const std::vector<Record> one = measured(random, row, all_alike), other = measured(random, row, all_alike);
    const PointSummary summary = summarize_points(one).at(0);
    const Estimate& estimate = summary.find("throughput")->estimate;
    told.covered += holds(estimate, kind) ? 1 : 0;
    told.widths.push_back(50 * (*estimate.high - *estimate.low) / kind);
    told.repeats += static_cast<double>(one.size()) / series;
    for (const Record& run : one) told.seconds += static_cast<double>(run.windows.back().end) / 1e9 / series;
    const auto compared = compare_points(summary, summarize_points(other).at(0), "throughput");
    told.apart += compared && compared->separable() ? 1 : 0;
  }
  return told;
}

}  // namespace

void print_auto_repeats(int series) {
  fmt::print("\n`--repeats auto`, 1 % asked, {} series a row; in brackets: all windows asked for 1 %\n", series);
  fmt::print(
      "| processes apart | a second's mean scatters by | beside a window, s | covers, % | alike: covers, % | median half-width, % | equal "
      "ones distinguished, % "
      "| "
      "alike: distinguished, % | repeats | time, s |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 31'000;
  for (const Row& row : {Row{0.002, 0.005}, Row{0.002, 0.02}, Row{0.01, 0.005}, Row{0.01, 0.02}, Row{0.02, 0.02}, Row{0.03, 0.005},
                         Row{0.03, 0.05}, Row{0.01, 0.005, 0.4}, Row{0.01, 0.02, 0.4}, Row{0.02, 0.02, 0.4}, Row{0.03, 0.05, 0.4}}) {
    Random random(++seed), same(seed);  // the same processes, as long as they run alike
    const Told now = told_of(random, row, false, series), alike = told_of(same, row, true, series);
    fmt::print("| {:g} % | {:g} % | {:g} | {:.1f} | {:.1f} | {:.2f} ({:.2f}) | {:.1f} | {:.1f} | {:.1f} ({:.1f}) | {:.0f} ({:.0f}) |\n",
               row.between * 100, row.second * 100, row.overhead_s, percent(now.covered, series), percent(alike.covered, series),
               median_of(now.widths), median_of(alike.widths), percent(now.apart, series), percent(alike.apart, series), now.repeats,
               alike.repeats, now.seconds, alike.seconds);
    std::fflush(stdout);
  }
}

}  // namespace deepgap
