#include "analysis/latency_percentile.h"

#include "analysis/independent_queries.h"
#include "analysis/steady.h"
#include "base/text.h"
#include "record/fact_values.h"
#include "record/latency_percentiles.h"
#include "stats/percentile.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace deepgap {
namespace {

int64_t shed_queries(const Record& record) {
  const auto shed = left_by_worker(record, "shed_share");
  return shed ? std::llround(shed->value * static_cast<double>(shed->n)) : 0;
}

// When they were shed is not known: evenly among the others.
std::vector<double> with_shed(const std::vector<double>& latencies, size_t shed) {
  std::vector<double> all;
  all.reserve(latencies.size() + shed);
  size_t taken = 0;
  for (size_t i = 0; i < latencies.size() + shed; ++i) {
    const bool is_shed = (i + 1) * shed / (latencies.size() + shed) > i * shed / (latencies.size() + shed);
    all.push_back(is_shed ? std::numeric_limits<double>::infinity() : latencies[taken++]);
  }
  return all;
}

}  // namespace

std::vector<double> parse_percentiles(const std::string& list) {
  std::vector<double> percents;
  for (std::string word : split(list, ',')) {
    word = trim(word);
    const auto percent = parse_double(word.starts_with("p") ? word.substr(1) : word);
    if (!percent || !(*percent > 0 && *percent < 100))
      throw Error(
          ErrorKind::usage,
          fmt::format("invalid value '{1}' in --percentile {0}: expected percentiles between 0 and 100, such as 90,95,99.9", list, word));
    if (std::find(percents.begin(), percents.end(), *percent) == percents.end()) percents.push_back(*percent);
  }
  return percents;
}

std::string latency_percentile_column(double percent) {
  if (std::string metric = latency_metric_id(percent); !metric.empty()) return metric;
  std::string name = fmt::format("p{}", percent);
  const size_t point = name.find('.');
  if (point == std::string::npos) return latency_metric_id(name);
  // 99.5 as 99.9 is written; elsewhere 12.5 and 1.25 would look alike.
  percent > 99 ? name.erase(point, 1) : name.replace(point, 1, "_");
  return latency_metric_id(name);
}

Estimate percentile_of_series(const std::vector<double>& series, double percent) {
  const auto found = estimate_percentile(series, percent);
  Estimate estimate{found.value, {}, {}, static_cast<int64_t>(series.size())};
  if (found.interval && std::isfinite(found.interval->low)) estimate.low = found.interval->low;
  if (found.interval && std::isfinite(found.interval->high)) estimate.high = found.interval->high;
  return estimate;
}

std::optional<Estimate> latency_percentile(const Record& record, double percent) {
  std::vector<double> latencies = latencies_ms(record);
  if (latencies.empty()) return std::nullopt;
  if (const int64_t shed = shed_queries(record); shed > 0) latencies = with_shed(latencies, static_cast<size_t>(shed));
  const Estimate estimate = percentile_of_series(latencies, percent);
  return std::isfinite(estimate.value) ? std::optional(estimate) : std::nullopt;
}

void keep_latency_sketch(Record& record) {
  if (record.outcome != Outcome::ok || record.timings_dropped > 0) return;
  std::vector<double> latencies = latencies_ms(record);
  if (latencies.empty()) return;
  keep_independent_queries(latencies, record);
  std::sort(latencies.begin(), latencies.end());
  LatencySketch sketch;
  for (const double latency : latencies) sketch.add(latency);
  sketch.add(std::numeric_limits<double>::infinity(), shed_queries(record));
  record.facts[latency_sketch_fact] = sketch.text();
}

std::optional<LatencySketch> latency_sketch_of(const Record& record) {
  const auto* text = fact_as<std::string>(record.facts, latency_sketch_fact);
  return text == nullptr ? std::nullopt : LatencySketch::from_text(*text);
}

void add_latency_percentiles(Record& record, const std::vector<double>& percents) {
  if (record.outcome != Outcome::ok || record.timings.empty() || record.timings_dropped > 0) return;
  for (const double percent : percents) {
    const std::string column = latency_percentile_column(percent);
    if (record.estimates.contains(column)) continue;
    if (const auto estimate = latency_percentile(record, percent)) record.estimates.emplace(column, *estimate);
  }
}

}  // namespace deepgap
