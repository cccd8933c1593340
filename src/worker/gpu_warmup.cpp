#include "worker/gpu_warmup.h"

#include "scenario/stopping/min_duration.h"
#include "scenario/stopping/settled.h"
#include "telemetry/clock_watch.h"
#include "telemetry/limit_watch.h"

#include <deepgap/error.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

// A GPU under heavy load comes to its power limit after about a second (docs/results/h100.md).
constexpr Nanoseconds shortest_to_the_limit = 3'000'000'000, longest_before_a_burst = 300'000'000;
// At the limit clocks swing, and what is known of a window's throughput comes from the time before it (scenario/stopping/stretches.h).
constexpr Nanoseconds settling_at_the_limit = 1'000'000'000, kept_at_the_limit = 8'200'000'000;

}  // namespace

std::vector<GpuReader> readers_of(const Placement& placement) {
  std::vector<int> ordinals;
  for (const DeviceId& device : placement.devices)
    if (device.kind == "cuda") ordinals.push_back(device.index);
  return gpu_readers(ordinals);
}

StoppingSettings warmup_settings(const DriverContext& context, PowerAsked asked) {
  StoppingSettings settings = context.order.stopping;
  if (asked == PowerAsked::either) return settings;
  if (!LimitWatch(context.clock, readers_of(context.order.point.placement)).knows_limits())
    throw Error(ErrorKind::refused, "the driver reports no power limit of the GPU, which --power needs; leave out --power");
  if (asked == PowerAsked::burst) settings.warmup_budget = std::min(settings.warmup_budget, longest_before_a_burst);
  return settings;
}

std::unique_ptr<Stopping> make_gpu_warmup(const StoppingSettings& settings, PowerAsked asked, int64_t round, std::vector<GpuReader> gpus) {
  auto rule = make_warmup(settings, round);
  if (settings.warmup || asked == PowerAsked::burst || gpus.empty()) return rule;
  if (asked == PowerAsked::sustained) rule = at_least(std::move(rule), shortest_to_the_limit);
  const auto clocks = std::make_shared<ClockWatch>(std::move(gpus));
  const Nanoseconds at_the_limit = asked == PowerAsked::sustained ? settling_at_the_limit + kept_at_the_limit : 0;
  const auto settled = [clocks, at_the_limit, begin = std::optional<Nanoseconds>(), limited = false](Nanoseconds now) mutable {
    if (!begin) begin = now;
    const bool steady = clocks->settled(now);
    limited = limited || clocks->at_power_limit();
    return steady && (!limited || now - *begin >= at_the_limit);
  };
  return until_settled(std::move(rule), settled, "the GPU's clocks", settings.warmup_budget);
}

std::vector<Timing> at_the_limit(std::vector<Timing> timings) {
  Nanoseconds end = INT64_MIN;
  for (const Timing& timing : timings) end = std::max(end, timing.end);
  const auto is_early = [end](const Timing& timing) { return timing.end < end - kept_at_the_limit; };
  timings.erase(std::remove_if(timings.begin(), timings.end(), is_early), timings.end());
  return timings;
}

StoppingSettings settings_after_rest() {
  StoppingSettings settings;
  settings.warmup = 3;
  return settings;
}

}  // namespace deepgap
