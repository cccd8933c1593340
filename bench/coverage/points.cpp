// Checks a Point of several repeats, by Records and the classes that summarise them: its verdict and its interval, its percentiles beside
// its extremes, and ratios as text. Fixed seeds.
#include "comparisons.h"
#include "simulated_run.h"

#include "analysis/latency_percentile.h"
#include "analysis/metric.h"
#include "analysis/point_summary.h"
#include "analysis/ratio_text.h"
#include "analysis/results.h"
#include "stats/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace deepgap {
namespace {

constexpr double asked = asked_of_repeats;

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
      "| processes apart | repeats | each alone | simpler rule: valid, % | simpler rule: valid or not against its interval, % | valid, % | "
      "covers, % | "
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
  fmt::print("\nIntervals over few repeats that differ much, {} series a row\n", series);
  fmt::print(
      "| processes apart | repeats | simpler rule: covers, % | simpler rule: includes 0, % | covers, % | includes 0, % |\n"
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

void print_extremes(int series) {
  fmt::print("\nA Point's percentiles beside its extremes, lognormal queries (sigma 0.1), processes 5 % apart, {} points a row\n", series);
  fmt::print(
      "| repeats | queries each | simpler rule: p99.99 above the longest, % | p99.99 above the longest, % | p10 below the shortest, % | "
      "counts "
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
  fmt::print("\nRatios near 2 % as text, against 1 and 2 %, {} a row\n", series);
  fmt::print("| half-width | simpler rule: hides a decision, % | hides a decision, % |\n| --- | --- | --- |\n");
  uint64_t seed = 41'400;
  for (const double half : {0.05, 0.01, 0.002, 0.0003}) {
    Random random(++seed);
    int before = 0, now = 0;
    for (int i = 0; i < series; ++i) {
      const double ratio = std::exp(std::uniform_real_distribution<double>(-0.04, 0.04)(random));
      const Interval interval{ratio * std::exp(-half), ratio * std::exp(half)};
      const RatioText text = ratio_text(ratio, interval, {margin});
      const size_t between = text.range.find(" to ");
      const std::string low = text.range.substr(0, between), high = text.range.substr(between + 4);
      bool hidden = false, was_hidden = false;
      for (const double limit : {1.0, 1 + margin, 1 / (1 + margin)}) {
        hidden = hidden || is_hidden(low, interval.low, limit) || is_hidden(high, interval.high, limit);
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

}  // namespace deepgap
