// Latency of a query, from the time it was scheduled to begin: in a closed loop that is when it was submitted, in an open loop when it
// should have been, so that a stalled system cannot hide its queue (no coordinated omission). Percentiles by nearest rank.
#include "analysis/latency_percentile.h"
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "record/latency_percentiles.h"
#include "stats/correlated.h"
#include "stats/moments.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

using Latencies = std::vector<double>;

// A metric of the latencies of a Record that has some.
Metric latency_metric(const std::string& name, const std::string& describe, std::function<Estimate(const Latencies&)> of) {
  const std::string id = latency_metric_id(name);
  return {id, "ms", Better::lower, describe, [id, of = std::move(of)](const Record& record) -> std::optional<Estimate> {
            if (record.outcome != Outcome::ok) return std::nullopt;
            if (record.timings_dropped > 0) return left_by_worker(record, id);  // which saw them all
            const Latencies latencies = latencies_ms(record);
            if (latencies.empty()) return std::nullopt;
            Estimate estimate = of(latencies);
            estimate.n = static_cast<int64_t>(latencies.size());
            return estimate;
          }};
}

// The median and the 99th percentile are columns of the report.
MetricColumn column_of(double percent) {
  if (percent == 50) return {20, true};
  return percent == 99 ? MetricColumn{30, true} : MetricColumn{};
}

Metric percentile_metric(const std::string& name, double percent) {
  const std::string id = latency_metric_id(name);
  return {
      .id = id,
      .unit = "ms",
      .better = Better::lower,
      .describe = fmt::format(
          "{}th percentile of latency by nearest rank, queries that were shed counted as never answered; interval from order statistics",
          percent),
      .compute = [id, percent](const Record& record) -> std::optional<Estimate> {
        if (record.outcome != Outcome::ok) return std::nullopt;
        if (record.timings_dropped > 0) return left_by_worker(record, id);  // which saw them all
        return latency_percentile(record, percent);
      },
      .column = column_of(percent),
      .title = percent == 99 ? "Latency, 99th percentile" : ""};
}

Estimate mean_of(const Latencies& latencies) {
  Moments moments;
  for (const double latency : latencies) moments.add(latency);
  Estimate estimate{moments.mean(), {}, {}, 0};
  if (const auto correlated = estimate_correlated_mean(latencies)) {
    const Interval interval = correlated->interval();
    estimate.low = interval.low;
    estimate.high = interval.high;
  }
  return estimate;
}

Estimate deviation_of(const Latencies& latencies) {
  Moments moments;
  for (const double latency : latencies) moments.add(latency);
  return {moments.standard_deviation(), {}, {}, 0};
}

Estimate least_of(const Latencies& latencies) { return {*std::min_element(latencies.begin(), latencies.end()), {}, {}, 0}; }
Estimate most_of(const Latencies& latencies) { return {*std::max_element(latencies.begin(), latencies.end()), {}, {}, 0}; }

std::vector<Metric> latency_metrics() {
  std::vector<Metric> metrics{
      latency_metric("mean", "mean latency of a query; interval by batch means, correlation allowed for", mean_of),
      latency_metric("std", "standard deviation of latency, divisor n - 1", deviation_of),
      over_repeats(Combine::least, latency_metric("min", "shortest latency", least_of)),
      over_repeats(Combine::most, latency_metric("max", "longest latency", most_of)),
  };
  for (const NamedPercentile& p : latency_percentiles) metrics.push_back(percentile_metric(p.name, p.percent));
  return metrics;
}

const bool registered = register_metrics(latency_metrics());

}  // namespace
}  // namespace deepgap
