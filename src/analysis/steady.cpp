#include "analysis/steady.h"

#include <algorithm>

namespace deepgap {
namespace {

// Value at t on the line between the readings around it; beyond the first or last reading, that reading's value.
double value_at(const Series& series, Nanoseconds t) {
  const auto after = std::lower_bound(series.times.begin(), series.times.end(), t);
  const auto i = static_cast<size_t>(after - series.times.begin());
  if (i == 0) return series.values.front();
  if (i == series.times.size()) return series.values.back();
  const auto span = static_cast<double>(series.times[i] - series.times[i - 1]);
  const double share = span > 0 ? static_cast<double>(t - series.times[i - 1]) / span : 1;
  return series.values[i - 1] + share * (series.values[i] - series.values[i - 1]);
}

}  // namespace

bool encloses(const Series& series, const Window& window) {
  if (series.times.size() < 2 || series.values.size() != series.times.size() || window.end <= window.begin) return false;
  const Nanoseconds slack = (window.end - window.begin) / 10;
  return series.times.front() <= window.begin + slack && series.times.back() >= window.end - slack;
}

const Window* find_window(const Record& record, std::string_view name) {
  for (const Window& window : record.windows) {
    if (window.name == name) return &window;
  }
  return nullptr;
}

std::optional<double> window_seconds(const Record& record, std::string_view name) {
  const Window* window = find_window(record, name);
  if (window == nullptr || window->end <= window->begin) return std::nullopt;
  return static_cast<double>(window->end - window->begin) / 1e9;
}

std::vector<double> latencies_ms(const Record& record) {
  std::vector<double> latencies;
  latencies.reserve(record.timings.size());
  for (const Timing& timing : record.timings) {
    if (timing.status == Status::ok) latencies.push_back(static_cast<double>(timing.end - timing.scheduled) / 1e6);
  }
  return latencies;
}

std::optional<Estimate> left_by_worker(const Record& record, const std::string& id) {
  const auto found = record.estimates.find(id);
  return record.outcome != Outcome::ok || found == record.estimates.end() ? std::nullopt : std::optional(found->second);
}

const Series* find_series(const Record& record, std::string_view probe, std::string_view name) {
  for (const Series& series : record.series) {
    if (series.probe == probe && series.name == name) return &series;
  }
  return nullptr;
}

std::optional<double> counter_growth(const Series& counter, const Window& window) {
  if (!counter.counter || !encloses(counter, window)) return std::nullopt;
  for (size_t i = 1; i < counter.values.size(); ++i) {
    const bool inside = counter.times[i] > window.begin && counter.times[i - 1] < window.end;
    if (inside && counter.values[i] < counter.values[i - 1]) return std::nullopt;
  }
  return value_at(counter, window.end) - value_at(counter, window.begin);
}

std::optional<double> time_average(const Series& readings, const Window& window) {
  if (!encloses(readings, window)) return std::nullopt;
  double area = 0;
  Nanoseconds t = window.begin;
  double value = value_at(readings, t);
  const auto advance = [&](Nanoseconds next_t, double next_value) {
    area += static_cast<double>(next_t - t) * (value + next_value) / 2;
    t = next_t;
    value = next_value;
  };
  for (size_t i = 0; i < readings.times.size(); ++i) {
    if (readings.times[i] > window.begin && readings.times[i] < window.end) advance(readings.times[i], readings.values[i]);
  }
  advance(window.end, value_at(readings, window.end));
  return area / static_cast<double>(window.end - window.begin);
}

}  // namespace deepgap
