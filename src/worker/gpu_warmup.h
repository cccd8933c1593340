// The warm-up of a Point whose GPUs have clocks and a power limit: it waits until clocks are steady, or, before a burst, is short and lets
// the GPUs rest after it (worker/power_asked.h).
#pragma once

#include "scenario/stopping.h"
#include "telemetry/gpu_state.h"
#include "worker/power_asked.h"
#include "worker/workload_driver.h"

#include <memory>
#include <vector>

namespace deepgap {

// Readers of the GPUs among the Point's devices.
std::vector<GpuReader> readers_of(const Placement& placement);

// Returns the settings of the warm-up. Throws Error{refused} where a state is asked for and the driver reports no power limit.
StoppingSettings warmup_settings(const DriverContext& context, PowerAsked asked);
std::unique_ptr<Stopping> make_gpu_warmup(const StoppingSettings& settings, PowerAsked asked, int64_t round, std::vector<GpuReader> gpus);

// Returns the timings of a sustained warm-up at the limit: the last ones, over as long as it goes on there.
std::vector<Timing> at_the_limit(std::vector<Timing> timings);

// Between the warm-up and a burst: the GPUs rest, since a large batch brings them to their limit within a fifth of a second (H200).
constexpr Nanoseconds rest_before_burst = 2'000'000'000;
// Returns the settings of a second warm-up after the rest: a few queries, since the first ones are slow.
StoppingSettings settings_after_rest();

}  // namespace deepgap
