// Kernels that read nothing of what the kernel before them writes, such as that of a shortcut's convolution: they compute beside it where
// both fit the multiprocessors at once, as kernels of small batches do.
#pragma once

#include "engine/gpu/launch.h"
#include "engine/gpu/plan.h"

namespace deepgap::gpu {

// Marks such steps of a plan whose kernels are chosen (Step::beside_previous), and changes their text and that of the kernel before them.
void let_steps_begin_beside(GpuPlan& plan, const Chip& chip);

}  // namespace deepgap::gpu
