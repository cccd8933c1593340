#include "analysis/metric.h"

#include "analysis/latency_percentile.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace deepgap {
namespace {

std::vector<Metric>& registered() {
  static std::vector<Metric> metrics;
  return metrics;
}

}  // namespace

bool register_metrics(const std::vector<Metric>& family) {
  registered().insert(registered().end(), family.begin(), family.end());
  return true;
}

const std::vector<Metric>& all_metrics() {
  static const std::vector<Metric> metrics = [] {
    std::vector<Metric> sorted = registered();
    std::sort(sorted.begin(), sorted.end(), [](const Metric& a, const Metric& b) { return a.id < b.id; });
    return sorted;
  }();
  return metrics;
}

const Metric* find_metric(const std::string& id) {
  const std::vector<Metric>& metrics = all_metrics();
  const auto found =
      std::lower_bound(metrics.begin(), metrics.end(), id, [](const Metric& metric, const std::string& of) { return metric.id < of; });
  return found != metrics.end() && found->id == id ? &*found : nullptr;
}

Metric over_repeats(Combine combine, Metric metric) {
  metric.over_repeats = combine;
  return metric;
}

Metric over_ranks(Combine combine, Metric metric) {
  metric.over_ranks = combine;
  return metric;
}

Metric in_column(MetricColumn column, Metric metric) {
  metric.column = column;
  return metric;
}

std::string unit_text(const Metric& metric, const std::string& currency) {
  std::string unit = metric.unit == "1" ? "" : metric.unit;
  if (metric.is_money()) unit.replace(0, std::string_view("currency").size(), currency);
  return unit;
}

std::string unit_of_value(const Metric& metric, const std::string& currency) {
  const std::string unit = unit_text(metric, currency);
  return metric.per.empty() ? unit : unit + " " + metric.per;
}

ReadableValue readable_value(const Metric& metric, const Estimate& estimate, const std::string& currency) {
  ReadableValue readable{estimate, unit_of_value(metric, currency)};
  constexpr double small = 0.1, in_milli = 1000;
  if (metric.unit != "J" || !(std::abs(estimate.value) < small)) return readable;
  readable.unit.insert(0, "m");
  readable.estimate.value *= in_milli;
  if (readable.estimate.low) *readable.estimate.low *= in_milli;
  if (readable.estimate.high) *readable.estimate.high *= in_milli;
  return readable;
}

namespace {

// Returns metrics apart from the Record: a metric must see the worker's estimates, not what another metric made of them.
std::map<std::string, Estimate> all_estimates(const Record& record) {
  std::map<std::string, Estimate> computed;
  for (const Metric& metric : all_metrics()) {
    const auto estimate = metric.compute(record);
    if (estimate && std::isfinite(estimate->value)) computed.emplace(metric.id, *estimate);
  }
  return computed;
}

}  // namespace

void compute_metrics(Record& record) {
  std::map<std::string, Estimate> computed = all_estimates(record);
  computed.merge(record.estimates);
  record.estimates = std::move(computed);
  keep_latency_sketch(record);
}

void recompute_metrics(Record& record) {
  std::map<std::string, Estimate> computed = all_estimates(record);
  for (const Metric& metric : all_metrics()) record.estimates.erase(metric.id);
  computed.merge(record.estimates);
  record.estimates = std::move(computed);
  keep_latency_sketch(record);
}

}  // namespace deepgap
