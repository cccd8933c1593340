// Percentiles: within one run, and over the repeats of a Point as summaries compute them.
#include "comparisons.h"
#include "simulated_run.h"

#include "analysis/combine_repeats.h"
#include "analysis/latency_percentile.h"
#include "analysis/point_summary.h"
#include "stats/compare.h"
#include "stats/percentile.h"
#include "stats/test_series.h"
#include "stats/test_sources.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace deepgap {
namespace {

void print_of_one_run(int series) {
  fmt::print("\np99 within one run, {} series a row; an end that is missing bounds nothing\n", series);
  fmt::print("| series | queries | has both ends, % | covers where it has, % | covers, % |\n| --- | --- | --- | --- | --- |\n");
  struct Row {
    std::string name;
    size_t n;
    std::function<std::vector<double>(Random&, size_t)> make;
    double truth;
  };
  const double z99 = 2.3263478740408408;
  const auto lognormal = [](Random& r, size_t n) { return lognormal_series(r, n, 1, 0.3); };
  const auto correlated = [](double rho) { return [rho](Random& r, size_t n) { return ar1_series(r, n, 10, 1, rho); }; };
  const std::vector<Row> rows{
      {"lognormal 0.3", 107, lognormal, std::exp(0.3 * z99)},  {"lognormal 0.3", 400, lognormal, std::exp(0.3 * z99)},
      {"lognormal 0.3", 2000, lognormal, std::exp(0.3 * z99)}, {"AR(1) 0.5", 400, correlated(0.5), 10 + z99},
      {"AR(1) 0.9", 400, correlated(0.9), 10 + z99},           {"AR(1) 0.9", 2000, correlated(0.9), 10 + z99},
      {"AR(1) 0.99", 2000, correlated(0.99), 10 + z99},        {"AR(1) 0.9", 20'000, correlated(0.9), 10 + z99}};
  uint64_t seed = 7000;
  for (const Row& row : rows) {
    Random random(++seed);
    int both = 0, covered = 0, covered_both = 0;
    for (int i = 0; i < series; ++i) {
      const auto found = estimate_percentile(row.make(random, row.n), 99);
      const bool has_both = found.interval.has_value() && std::isfinite(found.interval->high);
      const bool covers = !found.interval || (found.interval->low <= row.truth && row.truth <= found.interval->high);
      both += has_both ? 1 : 0;
      covered += covers ? 1 : 0;
      covered_both += has_both && covers ? 1 : 0;
    }
    fmt::print("| {} | {} | {:.1f} | {} | {:.1f} |\n", row.name, row.n, 100.0 * both / series,
               both > 0 ? fmt::format("{:.1f}", 100.0 * covered_both / both) : "-", 100.0 * covered / series);
    std::fflush(stdout);
  }
}

// One run of a Point, as a worker leaves it.
Record record_of(const std::vector<double>& latencies) {
  Record record;
  record.verdict = Verdict::valid;
  for (size_t i = 0; i < latencies.size(); ++i) {
    const auto begin = static_cast<Nanoseconds>(i) * 1'000'000'000;
    record.timings.push_back({i, begin, begin, begin + static_cast<Nanoseconds>(latencies[i] * 1e6), 1, Status::ok});
  }
  record.estimates["latency_p99_ms"] = percentile_of_series(latencies, 99);
  record.estimates["latency_p50_ms"] = percentile_of_series(latencies, 50);
  keep_latency_sketch(record);
  record.timings.clear();
  return record;
}

struct Covered {
  int covers = 0, has_both = 0, covers_both = 0, above = 0;  // above: the truth lies above the upper end
  double sum = 0;

  void add(const Estimate& estimate, double truth) {
    const bool holds = estimate.low.value_or(0) <= truth && truth <= estimate.high.value_or(1e300);
    const bool both = estimate.low && estimate.high;
    covers += holds ? 1 : 0;
    has_both += both ? 1 : 0;
    above += estimate.high && *estimate.high < truth ? 1 : 0;
    covers_both += both && holds ? 1 : 0;
    sum += estimate.value / truth;
  }
};

// Computes the former estimate: the mean of the repeats' own percentiles.
Estimate mean_of(const std::vector<Record>& records, const std::string& metric) {
  std::vector<MeanEstimate> means;
  for (const Record& record : records) means.push_back(moments_of(record.estimates.at(metric)));
  const Interval interval = estimate_over_repeats(means)->estimate.interval();
  return {estimate_over_repeats(means)->estimate.mean, interval.low, interval.high, 0};
}

void print_over_repeats(int series) {
  fmt::print("\nPercentiles over repeats, each a process of its own, {} series a row\n", series);
  fmt::print(
      "| series | percentile | repeats | queries each | mean of the repeats' own: covers, % | mean of the repeats' own: mean of it over "
      "the truth | has both ends, % | of "
      "these "
      "cover, % | covers, % | truth above it, % | mean of it over the truth |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- "
      "| --- |\n");
  const auto lognormal = [](Random& r, size_t n) { return lognormal_series(r, n, 10, 0.3); };
  const auto correlated_by = [](double rho) {
    return [rho](Random& r, size_t n) {
      std::vector<double> logs = ar1_series(r, n, std::log(10.0), 0.3, rho);
      for (double& value : logs) value = std::exp(value);
      return logs;
    };
  };
  const auto correlated = correlated_by(0.9), more_correlated = correlated_by(0.99);
  struct Row {
    std::string name;
    double scatter;
    std::function<std::vector<double>(Random&, size_t)> make;
    double percent;
    size_t repeats, queries;
  };
  std::vector<Row> rows;
  for (const size_t repeats : {3u, 5u, 10u}) rows.push_back({"lognormal 0.3, processes 1 % apart", 0.01, lognormal, 99, repeats, 107});
  for (const size_t repeats : {3u, 5u, 10u}) rows.push_back({"lognormal 0.3, processes 5 % apart", 0.05, lognormal, 99, repeats, 400});
  for (const size_t repeats : {3u, 5u}) rows.push_back({"lognormal 0.3, processes 1 % apart", 0.01, lognormal, 99, repeats, 2000});
  for (const size_t repeats : {3u, 5u, 10u}) rows.push_back({"AR(1) 0.9, processes 1 % apart", 0.01, correlated, 99, repeats, 2000});
  for (const size_t repeats : {3u, 5u, 10u}) rows.push_back({"AR(1) 0.99, processes 1 % apart", 0.01, more_correlated, 99, repeats, 2000});
  for (const size_t queries : {5000u, 10'000u, 20'000u})
    rows.push_back({"AR(1) 0.99, processes 1 % apart", 0.01, more_correlated, 99, 5, queries});
  for (const size_t repeats : {3u, 5u}) rows.push_back({"lognormal 0.3, processes 5 % apart", 0.05, lognormal, 50, repeats, 2000});
  const double z99 = 2.3263478740408408;
  uint64_t seed = 7100;
  for (const Row& row : rows) {
    Random random(++seed);
    const std::string metric = row.percent == 99 ? "latency_p99_ms" : "latency_p50_ms";
    // The truth for all queries of all processes: the logarithms' variances add up.
    const double truth = 10 * std::exp((row.percent == 99 ? z99 : 0) * std::hypot(0.3, row.scatter));
    Covered before, now;
    for (int i = 0; i < series; ++i) {
      std::vector<Record> records;
      for (size_t k = 0; k < row.repeats; ++k) {
        const double own = std::exp(row.scatter * std::normal_distribution<double>()(random));
        std::vector<double> latencies = row.make(random, row.queries);
        for (double& latency : latencies) latency *= own;
        records.push_back(record_of(latencies));
        records.back().repeat = static_cast<int>(k);
      }
      before.add(mean_of(records, metric), truth);
      now.add(summarize_points(records)[0].find(metric)->estimate, truth);
    }
    fmt::print("| {} | p{:g} | {} | {} | {:.1f} | {:.3f} | {:.1f} | {} | {:.1f} | {:.1f} | {:.3f} |\n", row.name, row.percent, row.repeats,
               row.queries, percent(before.covers, series), before.sum / series, percent(now.has_both, series),
               now.has_both > 0 ? fmt::format("{:.1f}", 100.0 * now.covers_both / now.has_both) : "-", percent(now.covers, series),
               percent(now.above, series), now.sum / series);
    std::fflush(stdout);
  }
}

}  // namespace

void print_percentiles(int series) {
  print_of_one_run(series);
  print_over_repeats(series);
}

}  // namespace deepgap
