#include "worker/timing_log.h"

#include "record/latency_percentiles.h"
#include "stats/percentile.h"

#include <cmath>
#include <limits>

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

LatencySummary TimingLog::summarize(const std::optional<LatencyBound>& bound, int64_t shed) const {
  if (!bound || count_ == 0) return {count_ + shed, 0, 0, shed, shed};
  // The same rank among those that were answered; 0 percent and below is not a rank, 100 and above is one that was not.
  const auto all = static_cast<double>(count_ + shed);
  const double rank = std::ceil(bound->percent / 100 * all - 1e-9 * all);
  const bool is_answered = rank <= static_cast<double>(count_);
  const double percent = std::min(100.0, 100 * rank / static_cast<double>(count_));
  const auto of_answered = [&](double value) { return is_answered ? value : std::numeric_limits<double>::infinity(); };
  if (dropped() > 0) {
    LogHistogram latencies = dropped_latencies_;
    each_kept([&](const Timing& timing) { latencies.add(timing.end - timing.scheduled); });
    return {count_ + shed, static_cast<double>(latencies.least()), of_answered(latencies.percentile(percent)),
            latencies.count_above(bound->limit) + shed, shed};
  }
  std::vector<double> latencies;
  each_kept([&](const Timing& timing) { latencies.push_back(static_cast<double>(timing.end - timing.scheduled)); });
  const auto limit = static_cast<double>(bound->limit);
  const auto missed = std::count_if(latencies.begin(), latencies.end(), [&](double latency) { return latency > limit; });
  return {count_ + shed, *std::min_element(latencies.begin(), latencies.end()), of_answered(percentile(latencies, percent)), missed + shed,
          shed};
}

}  // namespace deepgap
