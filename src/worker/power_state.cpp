#include "worker/power_state.h"

#include "base/throttle.h"
#include "stats/moments.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace deepgap {
namespace {

constexpr double relevant_fall = 0.02;
// A GPU may be read once a second only, and at the edges of a window shortly outside of it. An older reading may be from before the
// warm-up, which often reaches the limit itself within a second.
constexpr Nanoseconds shortly_before = 1'000'000'000, edge = 200'000'000;

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

bool is_limited(double reasons) { return (static_cast<uint64_t>(reasons) & throttled_by_power) != 0; }

// A GPU at its limit has clocks that go up and down by some percent, so a fall alone is no burst: it was not at the limit before. Watts do
// not tell either, since single readings scatter by a tenth around the limit; the driver's reasons for lower clocks do.
PowerState state_of(const Series& reasons, const Series& clock, const Window& window) {
  const Nanoseconds middle = window.begin + (window.end - window.begin) / 2, end = window.end + edge;
  const std::vector<double> before = readings(reasons, window.begin - shortly_before, window.begin - edge);
  const std::vector<double> within = readings(reasons, window.begin - edge, end), late = readings(reasons, middle, end);
  const std::vector<double> early_clock = readings(clock, window.begin - shortly_before, middle), late_clock = readings(clock, middle, end);
  if (within.empty()) return {};
  if (!before.empty() && std::none_of(before.begin(), before.end(), is_limited) && std::any_of(late.begin(), late.end(), is_limited) &&
      !early_clock.empty() && !late_clock.empty()) {
    const double fall = 1 - mean_of(late_clock) / *std::max_element(early_clock.begin(), early_clock.end());
    if (fall > relevant_fall) return {"burst", fall};
  }
  const auto count = static_cast<size_t>(std::count_if(within.begin(), within.end(), is_limited));
  return 2 * count > within.size() ? PowerState{"sustained", 0} : PowerState{};
}

}  // namespace

PowerState power_state(std::span<const Series> series, const Window& window) {
  constexpr std::string_view prefix = "throttle_reasons.";
  PowerState found;
  for (const Series& reasons : series) {
    if (!reasons.name.starts_with(prefix)) continue;
    const Series* clock = find_series(series, "clock_sm." + reasons.name.substr(prefix.size()));
    if (clock == nullptr) continue;
    const PowerState state = state_of(reasons, *clock, window);
    if (found.word.empty() || state.clock_fall > found.clock_fall) found = state;
  }
  return found;
}

}  // namespace deepgap
