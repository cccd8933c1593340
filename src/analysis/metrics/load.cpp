// Metrics of a schedule: the load offered, what became of it, and how well it was kept. Only Points of such scenarios have these.
#include "analysis/latency_percentile.h"
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "record/latency_percentiles.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

std::optional<Estimate> queue_wait(const Record& record, const std::string& id, double percent) {
  if (!left_by_worker(record, "offered_rate")) return std::nullopt;
  if (record.timings_dropped > 0) return left_by_worker(record, id);
  std::vector<double> waits;
  for (const Timing& timing : record.timings) {
    if (timing.status == Status::ok) waits.push_back(static_cast<double>(timing.begin - timing.scheduled) / 1e6);
  }
  if (waits.empty()) return std::nullopt;
  return percentile_of_series(waits, percent);
}

Metric of_worker(const std::string& id, const std::string& unit, Better better, const std::string& describe) {
  return {id, unit, better, describe, [id](const Record& record) { return left_by_worker(record, id); }};
}

std::vector<Metric> load_metrics() {
  std::vector<Metric> metrics{
      over_ranks(Combine::sum,
                 of_worker("offered_rate", "1/s", Better::neither, "queries that were due in the schedule's window, over its length")),
      over_ranks(Combine::sum, of_worker("achieved_rate", "1/s", Better::higher,
                                         "of the offered queries those answered before that window ended, over its length")),
      of_worker("issue_lateness_p50_us", "us", Better::lower,
                "median time by which a query was submitted later than by a harness without delays of its own"),
      of_worker("issue_lateness_p99_us", "us", Better::lower, "99th percentile of the same: what the harness adds to latencies"),
      over_repeats(Combine::most, of_worker("issue_lateness_max_us", "us", Better::lower, "the longest of the same")),
      of_worker("missed_share", "1", Better::lower,
                "share of the queries that took longer than the latency SLO allows, including those that were shed"),
      of_worker("failed_share", "1", Better::lower, "share of the queries that failed while the run went on; of servers alone"),
  };
  for (const NamedPercentile& p : wait_percentiles) {
    const std::string id = wait_metric_id(p.name);
    metrics.push_back({id, "ms", Better::lower,
                       fmt::format("{}th percentile of the time a query that was due waited to be submitted", p.percent),
                       [id, percent = p.percent](const Record& record) { return queue_wait(record, id, percent); }});
  }
  return metrics;
}

const bool registered = register_metrics(load_metrics());

}  // namespace
}  // namespace deepgap
