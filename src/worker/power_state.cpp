#include "worker/power_state.h"

#include "base/quantity.h"
#include "base/throttle.h"
#include "record/verdict.h"
#include "stats/moments.h"

#include <fmt/format.h>

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

std::string below_the_limit(const char* asked) {
  return fmt::format("power={} was asked for, and the GPU stayed below its power limit: both states are the same here", asked);
}

std::string came_to_the_limit(double clock_fall) {
  return fmt::format("the GPU came to its power limit within the window, and its clock fell by {}", percent_text(clock_fall));
}

void refuse_verdict(const std::string& why, Record& record) {
  if (!is_sound(record.verdict) && record.verdict != Verdict::unstable) return;
  record.reason = record.reason.empty() ? why : fmt::format("{}; {}", why, record.reason);
  record.verdict = Verdict::unstable;
  record.facts.erase(wide_interval_fact);
  record.facts.erase("as_found");
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

void note_power_state(PowerAsked asked, Record& record) {
  if (record.outcome != Outcome::ok || record.windows.empty() || record.windows.back().name != "steady") return;
  if (asked == PowerAsked::burst) {
    if (!record.facts.contains(power_state_fact)) record.facts[power_asked_fact] = below_the_limit("burst");
    return;
  }
  const PowerState state = power_state(record.series, record.windows.back());
  if (!state.word.empty()) record.facts[power_state_fact] = state.word;
  if (state.word == "burst") {
    const std::string came = came_to_the_limit(state.clock_fall);
    if (asked == PowerAsked::sustained)
      refuse_verdict(fmt::format("asked for power=sustained, but {}; raise --min-duration", came), record);
    else
      record.facts[burst_fact] = "burst: " + came;
  } else if (asked == PowerAsked::sustained && state.word.empty()) {
    record.facts[power_asked_fact] = below_the_limit("sustained");
  }
}

}  // namespace deepgap
