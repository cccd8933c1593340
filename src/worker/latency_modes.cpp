#include "worker/latency_modes.h"

#include "base/quantity.h"
#include "stats/modes.h"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

namespace deepgap {
namespace {

constexpr size_t most_looked_at = 200'000;  // a few hundredths of a second

}  // namespace

std::string latency_modes_text(std::span<const Timing> timings, bool in_virtual_time) {
  std::vector<double> latencies_ms;
  std::vector<int64_t> readings;
  for (const Timing& timing : timings) {
    if (timing.status != Status::ok) continue;
    latencies_ms.push_back(static_cast<double>(timing.end - timing.scheduled) / 1e6);
    readings.push_back(timing.end);
    if (latencies_ms.size() == most_looked_at) break;
  }
  const double resolution_ms = in_virtual_time ? 0 : static_cast<double>(step_of(readings)) / 1e6;
  const auto modes = find_modes(latencies_ms, resolution_ms);
  if (!modes) return {};
  const std::string low = milliseconds_text(modes->low), high = milliseconds_text(modes->high), share = percent_text(modes->share_low);
  switch (modes->order) {
    case ModeOrder::alternating:
      return fmt::format("latency alternates between {} and {}", low, high);
    case ModeOrder::stretches:
      return fmt::format("latency changes between stretches of {} ({} of queries) and of {}", low, share, high);
    case ModeOrder::mixed:
      break;
  }
  return fmt::format("latency has two modes: {} ({} of queries) and {}", low, share, high);
}

}  // namespace deepgap
