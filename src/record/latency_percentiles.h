// The percentiles of latency and of waiting that are metrics, and their names: the worker makes them where it could not keep all timings,
// src/analysis from the timings, and reports draw them.
#pragma once

#include <string>

namespace deepgap {

struct NamedPercentile {
  const char* name;
  double percent;
};
inline constexpr NamedPercentile latency_percentiles[] = {{"p10", 10}, {"p25", 25}, {"p50", 50},    {"p75", 75},     {"p90", 90},
                                                          {"p95", 95}, {"p99", 99}, {"p999", 99.9}, {"p9999", 99.99}};
inline constexpr NamedPercentile wait_percentiles[] = {{"p50", 50}, {"p99", 99}};

inline std::string latency_metric_id(const std::string& name) { return "latency_" + name + "_ms"; }
// Returns the id of the metric for the percentile at `percent`; empty if there is none.
inline std::string latency_metric_id(double percent) {
  for (const NamedPercentile& named : latency_percentiles)
    if (named.percent == percent) return latency_metric_id(named.name);
  return {};
}
// Returns the metric for the target of an interval ("throughput", "p99.9"): "throughput", "latency_p999_ms"; empty if there is none.
inline std::string metric_of_target(std::string target) {
  if (target == "throughput") return target;
  std::erase(target, '.');
  for (const NamedPercentile& named : latency_percentiles)
    if (named.name == target) return latency_metric_id(target);
  return {};
}
inline std::string wait_metric_id(const std::string& name) { return "queue_wait_" + name + "_ms"; }

}  // namespace deepgap
