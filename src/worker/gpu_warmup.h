// The warm-up of a Point whose GPUs have clocks and a power limit: it waits until clocks are steady, or, before a burst, lets the GPUs rest
// and ends before they come to their limit (worker/power_asked.h).
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

// Brings the GPUs into the state from which the warm-up begins: rests before a burst. Returns the settings of the warm-up. Throws
// Error{refused} where a state is asked for and the driver reports no power limit.
StoppingSettings prepare_warmup(const DriverContext& context, PowerAsked asked);
std::unique_ptr<Stopping> make_gpu_warmup(const StoppingSettings& settings, PowerAsked asked, int64_t round, std::vector<GpuReader> gpus);

}  // namespace deepgap
