#include "worker/power_state.h"

#include "stats/moments.h"
#include "telemetry/clock_watch.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace deepgap {
namespace {

constexpr double relevant_fall = 0.02;
constexpr Nanoseconds shortly_before = 2'000'000'000;  // a GPU may be read once a second only

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

// A GPU at its limit has clocks that go up and down by some percent, so a fall alone is no burst: it was not at the limit before.
PowerState state_of(const Series& power, double limit, const Series& clock, const Window& window) {
  const Nanoseconds middle = window.begin + (window.end - window.begin) / 2;
  const auto early = [&](const Series& series) { return readings(series, window.begin - shortly_before, window.begin); };
  const auto late = [&](const Series& series) { return readings(series, middle, window.end); };
  const auto at_limit = [&](double watts) { return watts >= near_power_limit * limit; };
  const std::vector<double> before = early(power), after = late(power), within = readings(power, window.begin, window.end);
  const std::vector<double> early_clock = early(clock), late_clock = late(clock);
  if (before.empty() || after.empty() || early_clock.empty() || late_clock.empty()) return {};
  if (std::none_of(before.begin(), before.end(), at_limit) && std::any_of(after.begin(), after.end(), at_limit)) {
    const double fall = 1 - mean_of(late_clock) / mean_of(early_clock);
    return fall > relevant_fall ? PowerState{"burst", fall} : PowerState{};
  }
  const auto count = static_cast<size_t>(std::count_if(within.begin(), within.end(), at_limit));
  return 2 * count > within.size() ? PowerState{"sustained", 0} : PowerState{};
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
