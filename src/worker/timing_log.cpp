#include "worker/timing_log.h"

#include "record/latency_percentiles.h"
#include "stats/percentile.h"

namespace deepgap {

std::map<std::string, Estimate> TimingLog::estimates_of_all() const {
  std::map<std::string, Estimate> estimates;
  if (dropped() == 0) return estimates;
  LogHistogram latencies = dropped_latencies_, waits = dropped_waits_;
  each_kept([&](const Timing& timing) {
    latencies.add(timing.end - timing.scheduled);
    waits.add(timing.begin - timing.scheduled);
  });
  const auto ms = [&](double ns) { return Estimate{ns / 1e6, {}, {}, latencies.count()}; };
  for (const NamedPercentile& p : latency_percentiles) estimates[latency_metric_id(p.name)] = ms(latencies.percentile(p.percent));
  for (const NamedPercentile& p : wait_percentiles) estimates[wait_metric_id(p.name)] = ms(waits.percentile(p.percent));
  estimates[latency_metric_id("mean")] = ms(latencies.mean());
  estimates[latency_metric_id("min")] = ms(static_cast<double>(latencies.least()));
  estimates[latency_metric_id("max")] = ms(static_cast<double>(latencies.most()));
  return estimates;
}

LatencySummary TimingLog::summarize(const std::optional<LatencyBound>& bound) const {
  if (!bound || count_ == 0) return {count_, 0, 0, 0};
  if (dropped() > 0) {  // so many that nobody asks whether they are enough
    LogHistogram latencies = dropped_latencies_;
    each_kept([&](const Timing& timing) { latencies.add(timing.end - timing.scheduled); });
    return {count_, static_cast<double>(latencies.least()), latencies.percentile(bound->percent), 0};
  }
  std::vector<double> latencies;
  each_kept([&](const Timing& timing) { latencies.push_back(static_cast<double>(timing.end - timing.scheduled)); });
  const auto limit = static_cast<double>(bound->limit);
  const auto missed = std::count_if(latencies.begin(), latencies.end(), [&](double latency) { return latency > limit; });
  return {count_, *std::min_element(latencies.begin(), latencies.end()), percentile(latencies, bound->percent), missed};
}

}  // namespace deepgap
