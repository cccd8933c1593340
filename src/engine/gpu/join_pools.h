// Convolutions and the max-pools behind them as one step, where the chip has a kernel for both (Convolution::pool).
#pragma once

#include "engine/gpu/plan.h"

namespace deepgap::gpu {

// Call it before kernels are chosen. A result that anything but the pool reads stays.
void join_pools(GpuPlan& plan, const Chip& chip);

}  // namespace deepgap::gpu
