// Checks a Point of several repeats, by Records and the classes that summarise and compare them: its verdict and its interval, its
// percentiles beside its extremes, gates, and ratios as text. Fixed seeds.
#include "comparisons.h"
#include "simulated_run.h"

#include "analysis/compare/compare_results.h"
#include "analysis/latency_percentile.h"
#include "analysis/metric.h"
#include "analysis/point_summary.h"
#include "analysis/ratio_text.h"
#include "analysis/results.h"
#include "stats/compare.h"
#include "stats/multiple.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr double asked = 0.01, within = 0.003;

// One repeat: a process of its own, whose window knows its mean to 0.3 % or, where it was too short, to 1.4 %.
Record repeat_of(Random& random, double truth, double process, bool wide, int repeat, int64_t batch = 1, const std::string& run = "r") {
  std::normal_distribution<double> normal;
  const double own = wide ? 0.007 : within, value = truth * std::exp(process * normal(random) + own * normal(random));
  Record record;
  record.run_id = run;
  record.repeat = repeat;
  record.point.model = "a";
  record.point.batch = batch;
  record.stopping.interval = asked;
  record.verdict = wide ? Verdict::unstable : Verdict::valid;
  if (wide) record.reason = "throughput +-1.4% at the budget of 2 s, asked 1%";
  record.estimates["throughput"] = {value, value * (1 - 2 * own), value * (1 + 2 * own), 1000};
  return record;
}

std::vector<Record> repeats_of(Random& random, double truth, double process, bool wide, int k) {
  std::vector<Record> records;
  for (int i = 0; i < k; ++i) records.push_back(repeat_of(random, truth, process, wide, i));
  return records;
}

double half_of(const Estimate& estimate) { return std::log(*estimate.high / *estimate.low) / 2; }

// Applies the former rule: any unstable repeat makes the Point so, and how wide its own interval is does not matter.
bool was_valid(const std::vector<Record>& records) {
  return std::all_of(records.begin(), records.end(), [](const Record& record) { return record.verdict == Verdict::valid; });
}

void print_verdicts(int series) {
  fmt::print("\nThe verdict of a Point of several repeats, 1 % asked, {} series a row\n", series);
  fmt::print(
      "| processes apart | repeats | each alone | before: valid, % | before: valid or not against its interval, % | valid, % | covers, % | "
      "valid or not against its interval, % | half-width, median |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 41'000;
  for (const auto& [process, k, wide] : {std::tuple(0.05, 3, false),
                                         {0.05, 5, false},
                                         {0.01, 3, false},
                                         {0.01, 10, false},
                                         {0.002, 3, false},
                                         {0.002, 5, false},
                                         {0.002, 5, true},
                                         {0.0, 5, true}}) {
    Random random(++seed);
    int valid = 0, before = 0, wrong = 0, wrong_before = 0, covered = 0;
    std::vector<double> widths;
    for (int i = 0; i < series; ++i) {
      const std::vector<Record> records = repeats_of(random, 100, process, wide, k);
      const PointSummary point = summarize_points(records).at(0);
      const Estimate& estimate = point.find("throughput")->estimate;
      const bool narrow = half_of(estimate) <= asked, is_valid = point.verdict == Verdict::valid;
      valid += is_valid ? 1 : 0;
      before += was_valid(records) ? 1 : 0;
      wrong += is_valid != narrow ? 1 : 0;
      wrong_before += was_valid(records) != narrow ? 1 : 0;
      covered += holds(estimate, 100) ? 1 : 0;
      widths.push_back(100 * half_of(estimate));
    }
    fmt::print("| {:g} % | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.2f} |\n", 100 * process, k,
               wide ? "+-1.4 %" : "within 1 %", percent(before, series), percent(wrong_before, series), percent(valid, series),
               percent(covered, series), percent(wrong, series), median_of(widths));
    std::fflush(stdout);
  }
}

void print_wide_intervals(int series) {
  fmt::print("\nIntervals over few repeats that differ much, {} series a row; before: around the mean, cut at 0\n", series);
  fmt::print(
      "| processes apart | repeats | before: covers, % | before: includes 0, % | covers, % | includes 0, % |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 41'100;
  for (const auto& [process, k] : {std::pair(0.05, 2), {0.2, 2}, {0.2, 3}, {0.2, 5}, {0.5, 5}}) {
    Random random(++seed);
    const double truth = 100 * std::exp(process * process / 2);  // the mean, whose logarithms scatter
    int covered = 0, zero = 0, covered_before = 0, zero_before = 0;
    for (int i = 0; i < series; ++i) {
      const std::vector<Record> records = repeats_of(random, 100, process, false, k);
      const Estimate estimate = summarize_points(records).at(0).find("throughput")->estimate;
      std::vector<MeanEstimate> means;
      for (const Record& record : records) means.push_back(as_repeat(record.estimates.at("throughput")));
      const Interval before = estimate_over_repeats(means)->estimate.interval();
      covered += holds(estimate, truth) ? 1 : 0;
      zero += *estimate.low <= 0 ? 1 : 0;
      covered_before += before.low <= truth && truth <= before.high ? 1 : 0;
      zero_before += before.low <= 0 ? 1 : 0;
    }
    fmt::print("| {:g} % | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", 100 * process, k, percent(covered_before, series),
               percent(zero_before, series), percent(covered, series), percent(zero, series));
    std::fflush(stdout);
  }
}

// Applies the former rule: a difference is tested for, and the ratio seen is held against the margin.
bool failed_before(const ResultsComparison& found, double margin) {
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

GateCounts count_gates(const GateRow& row, int series, Random& random) {
  constexpr double margin = 0.02;
  constexpr int repeats = 5;
  std::normal_distribution<double> normal;
  GateCounts counts;
  for (int i = 0; i < series; ++i) {
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
    const ResultsComparison found = compare_results(first, second, {});
    const GateResult gate = judge_gate(found, {}, margin);
    counts.before += failed_before(found, margin) ? 1 : 0;
    counts.fails += gate.gate == Gate::slower ? 1 : 0;
    counts.open += gate.gate == Gate::not_enough_data ? 1 : 0;
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
      "| slower by | points | processes apart | before: fails, % | fails, % | not enough data, % | passes, % |\n"
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
      "| slower by | points that are slower | processes apart | whole repeats apart | before: fails, % | fails, % | not enough data, % "
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

void print_extremes(int series) {
  fmt::print("\nA Point's percentiles beside its extremes, lognormal queries (sigma 0.1), processes 5 % apart, {} points a row\n", series);
  fmt::print(
      "| repeats | queries each | before: p99.99 above the longest, % | p99.99 above the longest, % | p10 below the shortest, % | counts "
      "other than all, % |\n| --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 41'300;
  for (const auto& [k, queries] : {std::pair(3, 100), {5, 200}, {5, 1000}}) {
    Random random(++seed);
    std::normal_distribution<double> normal;
    int before = 0, above = 0, below = 0, miscounted = 0;
    for (int i = 0; i < series; ++i) {
      std::vector<Record> records;
      double longest = 0;
      for (int repeat = 0; repeat < k; ++repeat) {
        Record record = repeat_of(random, 100, 0, false, repeat);
        const double own = std::exp(0.05 * normal(random));
        for (int query = 0; query < queries; ++query)
          record.timings.push_back(
              {static_cast<uint64_t>(query), 0, 0, static_cast<int64_t>(1e7 * own * std::exp(0.1 * normal(random))), 1});
        compute_metrics(record);
        longest += record.estimates.at("latency_max_ms").value / k;
        record.timings.clear();
        records.push_back(std::move(record));
      }
      const PointSummary point = summarize_points(records).at(0);
      const auto value = [&](const char* id) { return point.find(id)->estimate.value; };
      before += value("latency_p9999_ms") > longest ? 1 : 0;
      above += value("latency_p9999_ms") > value("latency_max_ms") ? 1 : 0;
      below += value("latency_p10_ms") < value("latency_min_ms") ? 1 : 0;
      miscounted += value("timings") != k * queries ? 1 : 0;
    }
    fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", k, queries, percent(before, series), percent(above, series),
               percent(below, series), percent(miscounted, series));
    std::fflush(stdout);
  }
}

// Returns whether the text of an interval's end lies on another side of the limit than the end, or on it.
bool is_hidden(const std::string& text, double end, double limit) {
  const double shown = std::strtod(text.c_str(), nullptr);
  const double places = std::pow(10, static_cast<double>(text.size() - std::min(text.find('.') + 1, text.size())));
  const double written = std::round(limit * places) / places;  // as a reader has the limit, with as many digits
  return end != limit && (shown == written || (shown < written) != (end < limit));
}

void print_texts(int series) {
  constexpr double margin = 0.02;
  fmt::print("\nRatios near 2 % as text, against 1 and 2 %, {} a row; before: two decimals\n", series);
  fmt::print("| half-width | before: hides a decision, % | hides a decision, % |\n| --- | --- | --- |\n");
  uint64_t seed = 41'400;
  for (const double half : {0.05, 0.01, 0.002, 0.0003}) {
    Random random(++seed);
    int before = 0, now = 0;
    for (int i = 0; i < series; ++i) {
      const double ratio = std::exp(std::uniform_real_distribution<double>(-0.04, 0.04)(random));
      const Interval interval{ratio * std::exp(-half), ratio * std::exp(half)};
      const RatioText text = ratio_text(ratio, interval, margin);
      bool hidden = false, was_hidden = false;
      for (const double limit : {1.0, 1 + margin, 1 / (1 + margin)}) {
        hidden = hidden || is_hidden(text.low, interval.low, limit) || is_hidden(text.high, interval.high, limit);
        was_hidden = was_hidden || is_hidden(fmt::format("{:.2f}", interval.low), interval.low, limit) ||
                     is_hidden(fmt::format("{:.2f}", interval.high), interval.high, limit);
      }
      before += was_hidden ? 1 : 0;
      now += hidden ? 1 : 0;
    }
    fmt::print("| {:g} % | {:.1f} | {:.1f} |\n", 100 * half, percent(before, series), percent(now, series));
  }
}

}  // namespace

void print_points(int series) {
  print_verdicts(series);
  print_wide_intervals(series);
  print_extremes(std::max(1, series / 10));
  print_texts(series);
}

void print_all_gates(int series) {
  print_gates(std::max(1, series / 10));
  print_other_gates(std::max(1, series / 10));
}

}  // namespace deepgap
