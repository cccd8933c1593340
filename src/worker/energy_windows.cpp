#include "worker/energy_windows.h"

#include <algorithm>

namespace deepgap {
namespace {

constexpr Nanoseconds shortest_idle = 100'000'000, idle_with_power = 1'000'000'000, longest_idle = 5'000'000'000;
constexpr Nanoseconds slack = 100'000'000;  // the readings at the edges lie just outside the window

bool tells_energy(const Series& series) {
  const std::string kind = series.name.substr(0, series.name.find('.'));
  return kind == "energy" || kind == "power";
}

}  // namespace

bool reads_energy(const Telemetry& telemetry) { return telemetry.reads("energy") || telemetry.reads("power"); }

Nanoseconds idle_length(const StoppingSettings& stopping, bool energy_is_read) {
  if (!energy_is_read) return shortest_idle;
  return std::clamp(stopping.duration.value_or(0) / 2, idle_with_power, longest_idle);
}

void prepend_idle_readings(const Telemetry& telemetry, const Window& idle, std::vector<Series>& series) {
  for (const Series& before : telemetry.series(idle.begin - slack, idle.end + slack)) {
    const auto own =
        std::find_if(series.begin(), series.end(), [&](const Series& s) { return s.probe == before.probe && s.name == before.name; });
    if (!tells_energy(before) || own == series.end()) continue;
    const auto overlap = std::lower_bound(before.times.begin(), before.times.end(), own->times.front()) - before.times.begin();
    own->times.insert(own->times.begin(), before.times.begin(), before.times.begin() + overlap);
    own->values.insert(own->values.begin(), before.values.begin(), before.values.begin() + overlap);
  }
}

}  // namespace deepgap
