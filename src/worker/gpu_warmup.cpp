#include "worker/gpu_warmup.h"

#include "scenario/stopping/min_duration.h"
#include "scenario/stopping/settled.h"
#include "telemetry/clock_watch.h"
#include "telemetry/limit_watch.h"

#include <deepgap/error.h>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

// A GPU under heavy load comes to its power limit after about a second (docs/results/h100.md).
constexpr Nanoseconds shortest_to_the_limit = 3'000'000'000, longest_before_a_burst = 300'000'000;
constexpr Nanoseconds rest_before_a_burst = 2'000'000'000;

void rest(const DriverContext& context) {
  const Nanoseconds end = context.clock.now() + rest_before_a_burst;
  while (context.clock.now() < end && !context.interrupted) {
    context.heartbeat.beat();
    context.clock.wait_until(std::min(end, context.clock.now() + rest_before_a_burst / 10));
  }
}

}  // namespace

std::vector<GpuReader> readers_of(const Placement& placement) {
  std::vector<int> ordinals;
  for (const DeviceId& device : placement.devices)
    if (device.kind == "cuda") ordinals.push_back(device.index);
  return gpu_readers(ordinals);
}

StoppingSettings prepare_warmup(const DriverContext& context, PowerAsked asked) {
  StoppingSettings settings = context.order.stopping;
  if (asked == PowerAsked::either) return settings;
  if (!LimitWatch(context.clock, readers_of(context.order.point.placement)).knows_limits())
    throw Error(ErrorKind::refused, "the driver reports no power limit of the GPU, which --power needs; leave out --power");
  if (asked == PowerAsked::sustained) return settings;
  rest(context);
  settings.warmup_budget = std::min(settings.warmup_budget, longest_before_a_burst);
  return settings;
}

std::unique_ptr<Stopping> make_gpu_warmup(const StoppingSettings& settings, PowerAsked asked, int64_t round, std::vector<GpuReader> gpus) {
  auto rule = make_warmup(settings, round);
  if (settings.warmup || asked == PowerAsked::burst || gpus.empty()) return rule;
  if (asked == PowerAsked::sustained) rule = at_least(std::move(rule), shortest_to_the_limit);
  const auto clocks = std::make_shared<ClockWatch>(std::move(gpus));
  return until_settled(
      std::move(rule), [clocks](Nanoseconds now) { return clocks->settled(now); }, "the GPU's clocks", settings.warmup_budget);
}

}  // namespace deepgap
