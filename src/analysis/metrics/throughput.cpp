// Throughput: items a second, what that is in arithmetic, and how many queries stand behind it.
#include "analysis/throughput.h"
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "stats/correlated.h"
#include "stats/percentile.h"

namespace deepgap {
namespace {

struct Count {
  int64_t queries = 0;  // that succeeded
  double items = 0;     // items in those queries
  int64_t failed = 0;
};

Count count_of(const Record& record) {
  Count count;
  for (const Timing& timing : record.timings) {
    if (timing.status == Status::ok) {
      ++count.queries;
      count.items += timing.samples;
    } else {
      ++count.failed;
    }
  }
  return count;
}

// Computes the interval from the times between completions, correlation allowed for; seconds per item are inverted.
std::optional<Interval> interval_from_completions(const Record& record) {
  RatioSeries series;
  Nanoseconds previous = find_window(record, "steady")->begin;
  for (const Timing& timing : record.timings) {
    if (timing.status != Status::ok) continue;
    series.add(static_cast<double>(timing.end - previous) / 1e9, timing.samples);
    previous = timing.end;
  }
  const auto seconds_per_item = series.estimate();
  if (!seconds_per_item) return std::nullopt;
  const Interval interval = seconds_per_item->interval();
  if (interval.low <= 0) return std::nullopt;
  return Interval{1 / interval.high, 1 / interval.low};
}

std::optional<Estimate> throughput_median(const Record& record) {
  // In an open loop latency includes waiting, so it does not give a throughput.
  const bool is_offered = left_by_worker(record, "offered_rate").has_value();
  if (record.outcome != Outcome::ok || record.point.batch <= 0 || is_offered) return std::nullopt;
  const auto latencies = latencies_ms(record);
  if (latencies.empty()) return std::nullopt;
  const auto median = estimate_percentile(latencies, 50);
  if (median.value <= 0) return std::nullopt;
  const double items_ms = static_cast<double>(record.point.batch) * 1e3;
  Estimate estimate{items_ms / median.value, {}, {}, static_cast<int64_t>(latencies.size())};
  if (median.has_both_ends() && median.interval->low > 0) {
    estimate.low = items_ms / median.interval->high;
    estimate.high = items_ms / median.interval->low;
  }
  return estimate;
}

std::optional<Estimate> gflop_per_s(const Record& record) {
  auto estimate = steady_throughput(record);
  if (!estimate || record.flop_per_item <= 0) return std::nullopt;
  const double gflop = static_cast<double>(record.flop_per_item) / 1e9;
  estimate->value *= gflop;
  if (estimate->low) *estimate->low *= gflop;
  if (estimate->high) *estimate->high *= gflop;
  return estimate;
}

std::optional<Estimate> timings(const Record& record) {
  if (record.outcome != Outcome::ok) return std::nullopt;
  const int64_t n = static_cast<int64_t>(record.timings.size()) + record.timings_dropped;
  return Estimate{static_cast<double>(n), {}, {}, n};
}

std::optional<Estimate> failed_queries(const Record& record) {
  if (auto counted = left_by_worker(record, "failed_queries")) return counted;  // the run went on after failures
  if (record.outcome != Outcome::ok || record.timings.empty()) return std::nullopt;
  return Estimate{static_cast<double>(count_of(record).failed), {}, {}, static_cast<int64_t>(record.timings.size())};
}

const bool registered = register_metrics({
    {.id = "throughput",
     .unit = "items/s",
     .better = Better::higher,
     .describe = "items of queries that succeeded, divided by the length of the measured (steady) window",
     .compute = steady_throughput,
     .over_ranks = Combine::sum,
     .column = {10, true},
     .title = "Throughput"},
    {"throughput_median", "items/s", Better::higher,
     "batch divided by the median latency of a query, as DEEP-GAP reports it; not of open loops, whose latency includes waiting",
     throughput_median},
    {"gflop_per_s", "GFLOP/s", Better::higher,
     "throughput times the FLOP of one item counted on the Graph; a multiply and an add are two FLOP", gflop_per_s},
    over_repeats(Combine::sum, {"timings", "1", Better::neither, "queries timed in the measured window", timings}),
    over_repeats(Combine::sum,
                 {"failed_queries", "1", Better::lower, "queries of the measured window that did not succeed", failed_queries}),
});

}  // namespace

std::optional<Estimate> steady_throughput(const Record& record) {
  if (record.outcome != Outcome::ok) return std::nullopt;
  const auto known = record.estimates.find("throughput");
  const bool has_known = known != record.estimates.end() && known->second.value > 0;
  const auto seconds = window_seconds(record, "steady");
  // Timings beyond the cap were counted by the worker only.
  if (!seconds || record.timings.empty() || record.timings_dropped > 0) {
    return has_known ? std::optional(known->second) : std::nullopt;
  }
  const Count count = count_of(record);
  Estimate estimate{count.items / *seconds, {}, {}, count.queries};
  if (has_known && known->second.low && known->second.high) {
    const double scale = estimate.value / known->second.value;
    estimate.low = *known->second.low * scale;
    estimate.high = *known->second.high * scale;
  } else if (const auto interval = interval_from_completions(record)) {
    estimate.low = interval->low;
    estimate.high = interval->high;
  }
  return estimate;
}

}  // namespace deepgap
