// Metrics of the Point's GPUs while it was measured, from the probe `nvml`.
#include "analysis/metric.h"
#include "analysis/steady.h"
#include "base/throttle.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace deepgap {
namespace {

using OfSeries = std::function<std::optional<double>(const Series&, const Window&)>;
enum class Over { mean, most };  // the Point's GPUs

// A value of every GPU of the Point, or nothing.
std::optional<Estimate> over_gpus(const Record& record, const std::string& name, Over over, const OfSeries& of_series) {
  const Window* steady = find_window(record, "steady");
  if (record.outcome != Outcome::ok || steady == nullptr) return std::nullopt;
  double sum = 0, most = 0;
  int64_t count = 0;
  for (const DeviceId& device : record.point.placement.devices) {
    if (device.kind != "cuda") return std::nullopt;
    const Series* series = find_series(record, "nvml", fmt::format("{}.cuda{}", name, device.index));
    const auto value = series == nullptr ? std::nullopt : of_series(*series, *steady);
    if (!value) return std::nullopt;
    sum += *value;
    most = count == 0 ? *value : std::max(most, *value);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return Estimate{over == Over::most ? most : sum / static_cast<double>(count), {}, {}, 1};
}

std::optional<double> highest_between(const Series& series, Nanoseconds begin, Nanoseconds end) {
  std::optional<double> most;
  for (size_t i = 0; i < series.times.size(); ++i) {
    if (series.times[i] >= begin && series.times[i] <= end) most = std::max(most.value_or(series.values[i]), series.values[i]);
  }
  return most;
}

// A series read once a second may have no reading inside a short window: then those just outside it count.
std::optional<double> highest(const Series& series, const Window& window) {
  constexpr Nanoseconds near = 1'500'000'000;
  const auto inside = highest_between(series, window.begin, window.end);
  return inside ? inside : highest_between(series, window.begin - near, window.end + near);
}

// The share of the window for which the last reading had one of these bits. What was before the first reading is left out.
std::optional<double> share_with(const Series& series, const Window& window, uint64_t bits) {
  double with = 0, known = 0;
  for (size_t i = 0; i < series.times.size(); ++i) {
    const Nanoseconds next = i + 1 < series.times.size() ? series.times[i + 1] : window.end;
    const Nanoseconds begin = std::max(series.times[i], window.begin), end = std::min(next, window.end);
    if (end <= begin) continue;
    known += static_cast<double>(end - begin);
    if ((static_cast<uint64_t>(series.values[i]) & bits) != 0) with += static_cast<double>(end - begin);
  }
  return known > 0 ? std::optional(with / known) : std::nullopt;
}

// Averages a value that is read once a second: over the window, or over the readings just outside a short one.
std::optional<double> mean_near(const Series& series, const Window& window) {
  constexpr Nanoseconds near = 1'500'000'000;
  const auto mean = [&](Nanoseconds begin, Nanoseconds end) -> std::optional<double> {
    double sum = 0;
    int64_t count = 0;
    for (size_t i = 0; i < series.times.size(); ++i) {
      if (series.times[i] < begin || series.times[i] > end) continue;
      sum += series.values[i];
      ++count;
    }
    return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
  };
  const auto inside = mean(window.begin, window.end);
  return inside ? inside : mean(window.begin - near, window.end + near);
}

std::optional<Estimate> throttled(const Record& record, uint64_t bits) {
  return over_gpus(record, "throttle_reasons", Over::most, [bits](const Series& s, const Window& w) { return share_with(s, w, bits); });
}

std::optional<Estimate> scaled(std::optional<Estimate> estimate, double unit) {
  if (estimate) estimate->value *= unit;
  return estimate;
}

// All that NVML lists but the worker itself, which holds a context in this window. An empty list means that it is hidden from us.
std::optional<double> others(const Series& processes, const Window& window) {
  const auto most = highest(processes, window);
  return most && *most >= 1 ? std::optional(*most - 1) : std::nullopt;
}

// A reading covers the driver's sample period, which NVML gives as between a sixth of a second and a second: only readings whose period
// lies in the window describe it. The last one is taken at the window's edge, just after it.
std::optional<double> utilization_within(const Series& series, const Window& window) {
  constexpr Nanoseconds longest_period = 1'000'000'000, edge = 50'000'000;
  double sum = 0;
  int64_t count = 0;
  for (size_t i = 0; i < series.times.size(); ++i) {
    if (series.times[i] < window.begin + longest_period || series.times[i] > window.end + edge) continue;
    sum += series.values[i];
    ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

std::optional<Estimate> utilization(const Record& record) { return over_gpus(record, "utilization", Over::mean, utilization_within); }

// Uses the engine's marks, which enclose whole queries: exact, but gaps between their kernels are within. Where queries overlap on a
// device, their marks do not show when it is idle.
std::optional<double> idle_by_marks(const Record& record) {
  const auto& devices = record.point.placement.devices;
  const bool on_gpu = !devices.empty() && std::all_of(devices.begin(), devices.end(), [](const auto& d) { return d.kind == "cuda"; });
  const auto marked = find_metric("marked_share")->compute(record);
  if (!on_gpu || !marked || marked->value > 1.02) return std::nullopt;
  return std::max(0.0, 1 - marked->value);
}

std::optional<double> idle_by_driver(const Record& record) {
  const auto busy = utilization(record);
  return busy ? std::optional(std::max(0.0, 1 - busy->value)) : std::nullopt;
}

// The driver sees the gaps within queries, the marks those between them.
std::optional<Estimate> idle_share(const Record& record) {
  const auto marks = idle_by_marks(record), driver = idle_by_driver(record);
  if (!marks && !driver) return std::nullopt;
  return Estimate{std::max(marks.value_or(0), driver.value_or(0)), {}, {}, 1};
}

// Marks are exact to well below 2 % of the wall time; the driver's samples are not.
std::optional<Estimate> host_bound(const Record& record) {
  constexpr double by_marks = 0.02, by_driver = 0.1;
  const auto marks = idle_by_marks(record), driver = idle_by_driver(record);
  if (!marks && !driver) return std::nullopt;
  return Estimate{marks.value_or(0) > by_marks || driver.value_or(0) > by_driver ? 1.0 : 0.0, {}, {}, 1};
}

const bool registered = register_metrics({
    {"gpu_utilization", "1", Better::neither,
     "share of the time in which the driver saw a kernel running on the GPU, by its samples that lie in the window; none in windows under "
     "1 s",
     utilization},
    {"device_idle_share", "1", Better::lower,
     "the larger of 1 - gpu_utilization and 1 - marked_share: time in which the host gives the GPU no work", idle_share},
    {"host_bound", "1", Better::lower,
     "1 where marked_share is below 0.98 or gpu_utilization below 0.9: the host, not the GPU, sets the speed; else 0", host_bound},
    {"gpu_clock_mhz", "MHz", Better::neither, "clock of the GPU's multiprocessors, mean over the window",
     [](const Record& r) { return scaled(over_gpus(r, "clock_sm", Over::mean, time_average), 1e-6); }},
    {"gpu_memory_utilization", "1", Better::neither,
     "share of the time in which the driver saw the GPU's memory being read or written, by its samples that lie in the window; none in "
     "windows under 1 s",
     [](const Record& r) { return over_gpus(r, "utilization_memory", Over::mean, utilization_within); }},
    {"gpu_memory_clock_mhz", "MHz", Better::neither, "clock of the GPU's memory, mean over the window",
     [](const Record& r) { return scaled(over_gpus(r, "clock_memory", Over::mean, mean_near), 1e-6); }},
    over_repeats(Combine::most, {"gpu_performance_state", "1", Better::lower,
                                 "highest number of the GPU's performance state in the window: P0 is the fastest",
                                 [](const Record& r) { return over_gpus(r, "performance_state", Over::most, highest); }}),
    over_repeats(Combine::most, {"gpu_temperature_c", "degC", Better::neither, "highest temperature of the GPU in the window",
                                 [](const Record& r) { return over_gpus(r, "temperature", Over::most, highest); }}),
    over_repeats(Combine::most,
                 {"gpu_memory_used_mib", "MiB", Better::lower, "most memory in use on the GPU in the window, by whatever process",
                  [](const Record& r) { return scaled(over_gpus(r, "memory_used", Over::most, highest), 1.0 / (1 << 20)); }}),
    {"gpu_other_processes", "1", Better::lower, "processes on the GPU besides the worker; not known where the driver hides processes",
     [](const Record& r) { return over_gpus(r, "processes", Over::most, others); }},
    {"throttled_share", "1", Better::lower,
     "share of the window in which the GPU's clocks were held back, for whatever reason but idleness",
     [](const Record& r) { return throttled(r, throttled_at_all); }},
    {"throttled_power_share", "1", Better::lower, "share of the window in which a power limit held the GPU's clocks back",
     [](const Record& r) { return throttled(r, throttled_by_power); }},
    {"throttled_thermal_share", "1", Better::lower, "share of the window in which heat held the GPU's clocks back",
     [](const Record& r) { return throttled(r, throttled_by_heat); }},
});

}  // namespace
}  // namespace deepgap
