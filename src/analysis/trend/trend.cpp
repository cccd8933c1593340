#include "analysis/trend/trend.h"

#include "analysis/words.h"
#include "stats/e_divisive.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace deepgap {
namespace {

double log_mean(const std::vector<TrendRun>& runs, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += std::log(runs[i].value);
  return sum / static_cast<double>(end - begin);
}

std::vector<TrendChange> changes_of(const std::vector<TrendRun>& runs) {
  std::vector<double> logs;
  for (const TrendRun& run : runs) logs.push_back(std::log(run.value));
  const std::vector<ChangePoint> found = find_changes(logs);
  std::vector<TrendChange> changes;
  for (size_t i = 0; i < found.size(); ++i) {
    const size_t begin = i == 0 ? 0 : found[i - 1].at, end = i + 1 < found.size() ? found[i + 1].at : runs.size();
    changes.push_back(
        {found[i].at, found[i].p_value, std::exp(log_mean(runs, begin, found[i].at)), std::exp(log_mean(runs, found[i].at, end))});
  }
  return changes;
}

}  // namespace

bool TrendCollector::take(const Record& record, Values& values) const {
  const auto found = record.estimates.find(metric_);
  if (record.outcome != Outcome::ok || found == record.estimates.end() || !(found->second.value > 0) ||
      !std::isfinite(found->second.value) || record.started_unix_ns == 0)
    return false;
  if (values.count == 0 || record.started_unix_ns < values.started_unix_ns) values.started_unix_ns = record.started_unix_ns;
  const auto version = record.environment.find(version_);
  if (version != record.environment.end()) values.version = format_fact(version->second);
  values.log_sum += std::log(found->second.value);
  ++values.count;
  return true;
}

void TrendCollector::add(const Record& record) {
  Values values;
  if (!take(record, values)) return;
  const Identity identity = identity_of(record);
  Point point = record.point;
  if (!point.model_hash.empty()) point.model_hash.clear();  // the file of a night is that night's
  take(record, series_[{{std::move(point), identity.device}, identity.machine}][record.run_id]);
}

void TrendCollector::add_control(const Record& record) {
  Values values;
  if (take(record, values)) take(record, controls_[{identity_of(record).machine, record.run_id}]);
}

std::vector<TrendSeries> TrendCollector::series() const {
  std::vector<TrendSeries> all;
  for (const auto& [key, runs] : series_) {
    const auto& [point, machine] = key;
    TrendSeries series{point.point, point.device, machine, {}, {}};
    for (const auto& [run_id, values] : runs) {
      double log_value = values.log_sum / static_cast<double>(values.count);
      if (!controls_.empty()) {
        const auto control = controls_.find({machine, run_id});
        if (control == controls_.end()) continue;
        log_value -= control->second.log_sum / static_cast<double>(control->second.count);
      }
      series.runs.push_back({values.started_unix_ns, values.version, std::exp(log_value)});
    }
    std::sort(series.runs.begin(), series.runs.end(),
              [](const TrendRun& a, const TrendRun& b) { return a.started_unix_ns < b.started_unix_ns; });
    series.changes = changes_of(series.runs);
    all.push_back(std::move(series));
  }
  return all;
}

}  // namespace deepgap
