#include "worker/power_state.h"

#include "stats/moments.h"
#include "telemetry/clock_watch.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace deepgap {
namespace {

constexpr double relevant_fall = 0.02;
constexpr size_t least_readings = 2;  // in each half of the window

const Series* find_series(std::span<const Series> series, const std::string& name) {
  const auto found = std::find_if(series.begin(), series.end(), [&](const Series& one) { return one.name == name; });
  return found == series.end() || found->values.empty() ? nullptr : &*found;
}

std::vector<double> readings(const Series& series, Nanoseconds begin, Nanoseconds end) {
  std::vector<double> found;
  for (size_t i = 0; i < series.times.size(); ++i)
    if (series.times[i] >= begin && series.times[i] <= end) found.push_back(series.values[i]);
  return found;
}

PowerState state_of(const Series& power, double limit, const Series& clock, const Window& window) {
  const Nanoseconds middle = window.begin + (window.end - window.begin) / 2;
  const std::vector<double> first = readings(clock, window.begin, middle), second = readings(clock, middle + 1, window.end);
  if (first.size() < least_readings || second.size() < least_readings) return {};
  const auto at_limit = [&](double watts) { return watts >= near_power_limit * limit; };
  const std::vector<double> all = readings(power, window.begin, window.end), late = readings(power, middle + 1, window.end);
  const double fall = 1 - mean_of(second) / mean_of(first);
  if (fall > relevant_fall && std::any_of(late.begin(), late.end(), at_limit)) return {"burst", fall};
  const auto count = static_cast<size_t>(std::count_if(all.begin(), all.end(), at_limit));
  return 2 * count > all.size() ? PowerState{"sustained", 0} : PowerState{};
}

}  // namespace

PowerState power_state(std::span<const Series> series, const Window& window) {
  constexpr std::string_view prefix = "power.";
  PowerState found;
  for (const Series& power : series) {
    if (!power.name.starts_with(prefix)) continue;
    const std::string gpu = power.name.substr(prefix.size());
    const Series *limit = find_series(series, "power_limit." + gpu), *clock = find_series(series, "clock_sm." + gpu);
    if (limit == nullptr || clock == nullptr) continue;
    const PowerState state = state_of(power, limit->values.back(), *clock, window);
    if (found.word.empty() || state.clock_fall > found.clock_fall) found = state;
  }
  return found;
}

}  // namespace deepgap
