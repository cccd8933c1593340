#include "analysis/metric.h"

#include "analysis/latency_percentile.h"

#include "base/registry.h"

#include <cmath>

namespace deepgap {
namespace {

class FunctionMetric final : public Metric {
 public:
  explicit FunctionMetric(MetricSpec spec) : spec_(std::move(spec)) {}
  std::string id() const override { return spec_.id; }
  std::string unit() const override { return spec_.unit; }
  Better better() const override { return spec_.better; }
  std::string describe() const override { return spec_.describe; }
  std::optional<Estimate> compute(const Record& record) const override { return spec_.compute(record); }

 private:
  MetricSpec spec_;
};

}  // namespace

bool register_metrics(const std::vector<MetricSpec>& family) {
  bool added = true;
  for (const MetricSpec& spec : family) {
    added = Registry<Metric>::instance().add(spec.id, [spec] { return std::make_unique<FunctionMetric>(spec); }) && added;
  }
  return added;
}

const std::vector<std::unique_ptr<Metric>>& all_metrics() {
  static const auto metrics = [] {
    std::vector<std::unique_ptr<Metric>> made;
    const auto& registry = Registry<Metric>::instance();
    for (const std::string& name : registry.names()) made.push_back(registry.make("metric", name));
    return made;
  }();
  return metrics;
}

const Metric* find_metric(const std::string& id) {
  for (const auto& metric : all_metrics()) {
    if (metric->id() == id) return metric.get();
  }
  return nullptr;
}

namespace {

// Not into the Record: a metric must see the worker's estimates, not what another metric made of them.
std::map<std::string, Estimate> all_estimates(const Record& record) {
  std::map<std::string, Estimate> computed;
  for (const auto& metric : all_metrics()) {
    const auto estimate = metric->compute(record);
    if (estimate && std::isfinite(estimate->value)) computed.emplace(metric->id(), *estimate);
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
  for (const auto& metric : all_metrics()) record.estimates.erase(metric->id());
  computed.merge(record.estimates);
  record.estimates = std::move(computed);
  keep_latency_sketch(record);
}

}  // namespace deepgap
