#include "backends/http/metrics.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

namespace deepgap {
namespace {

struct GpuSum {
  double sum = 0;
  int gpus = 0;
};

// Adds up all GPUs in each reading that has "NAME.gpuN".
std::vector<GpuSum> sums_of(std::span<const ServerReading> readings, std::string_view name) {
  std::vector<GpuSum> sums;
  const std::string prefix = fmt::format("{}.gpu", name);
  for (const ServerReading& reading : readings) {
    GpuSum all;
    for (const auto& [quantity, value] : reading) {
      if (!quantity.name.starts_with(prefix)) continue;
      all.sum += value;
      ++all.gpus;
    }
    if (all.gpus > 0) sums.push_back(all);
  }
  return sums;
}

template <typename Value>
double mean_of(const std::vector<GpuSum>& sums, const Value& value) {
  return std::accumulate(sums.begin(), sums.end(), 0.0, [&](double all, const GpuSum& one) { return all + value(one); }) /
         static_cast<double>(sums.size());
}

// Where one of this time belongs: behind those of the same time.
template <typename Readings>
auto behind(Readings& readings, Nanoseconds time) {
  return std::upper_bound(readings.begin(), readings.end(), time, [](Nanoseconds t, const auto& reading) { return t < reading.first; });
}

}  // namespace

std::map<std::string, double> over_window(std::span<const ServerReading> readings) {
  std::map<std::string, double> found{{"server.gpu_readings", static_cast<double>(readings.size())}};
  const auto smaller = [](const GpuSum& a, const GpuSum& b) { return a.sum < b.sum; };
  if (const auto used = sums_of(readings, "utilization"); !used.empty())
    found["server.gpu_utilization"] = mean_of(used, [](const GpuSum& one) { return one.sum / one.gpus; });
  if (const auto power = sums_of(readings, "power"); !power.empty())
    found["server.gpu_power_w"] = mean_of(power, [](const GpuSum& one) { return one.sum; });
  if (const auto memory = sums_of(readings, "memory_used"); !memory.empty())
    found["server.gpu_memory_used_bytes"] = std::max_element(memory.begin(), memory.end(), smaller)->sum;
  const auto energy = sums_of(readings, "energy");
  if (energy.size() > 1 && std::is_sorted(energy.begin(), energy.end(), smaller))  // else it started again
    found["server.gpu_energy_j"] = energy.back().sum - energy.front().sum;
  return found;
}

std::vector<Series> series_of(std::span<const std::pair<Nanoseconds, ServerReading>> readings) {
  std::map<ServerQuantity, Series> all;
  for (const auto& [time, reading] : readings) {
    for (const auto& [quantity, value] : reading) {
      Series& series = all.try_emplace(quantity, Series{"server", quantity.name, quantity.unit, quantity.counter, {}, {}}).first->second;
      series.times.push_back(time);
      series.values.push_back(value);
    }
  }
  std::vector<Series> list;
  for (auto& [quantity, series] : all) list.push_back(std::move(series));
  return list;
}

MetricsReader::MetricsReader(ServerAddress address, Nanoseconds timeout, const Clock& clock, std::string model,
                             std::chrono::milliseconds period)
    : address_(std::move(address)), timeout_(timeout), clock_(clock), model_(std::move(model)), request_(address_, most) {
  keep(ask(request_));
  thread_ = std::jthread([this, period](const std::stop_token& stop) { read_on(stop, period); });
}

MetricsReader::Reading MetricsReader::ask(HttpRequest& request) const {
  request.get("", timeout_);
  if (const auto request_error = request.perform())
    throw Error(ErrorKind::refused, fmt::format("the metrics at {}: {}", address_.base, request_error->what));
  return {clock_.now(), read_metrics(request.body().json(), model_)};
}

void MetricsReader::keep(const Reading& reading) {
  const auto insert = [&](std::vector<Reading>& readings) { readings.insert(behind(readings, reading.first), reading); };
  insert(history_);
  const bool was_taken = !window_.empty() && reading.first < window_.front().first;  // its window was
  if (!was_taken) insert(window_);
}

std::map<std::string, double> MetricsReader::take() {
  const Reading now = ask(request_);
  const std::lock_guard lock(mutex_);
  keep(now);
  const auto end = behind(window_, now.first);
  std::vector<ServerReading> readings;
  std::transform(window_.begin(), end, std::back_inserter(readings), [](const Reading& one) { return one.second; });
  window_.erase(window_.begin(), end - 1);  // its last is the next one's first
  return over_window(readings);
}

std::vector<Series> MetricsReader::take_series() {
  const std::lock_guard lock(mutex_);
  return series_of(std::exchange(history_, {}));
}

void MetricsReader::read_on(const std::stop_token& stop, std::chrono::milliseconds period) {
  HttpRequest request(address_, most);
  request.end_when([&stop] { return stop.stop_requested(); });  // a server that hangs does not hold up the end of a run
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, period, [] { return false; }) && !stop.stop_requested()) {
    lock.unlock();
    std::optional<Reading> reading;
    try {
      reading = ask(request);
    } catch (const Error&) {  // the readings at the window's ends report it
    }
    lock.lock();
    if (reading) keep(*reading);
  }
}

}  // namespace deepgap
