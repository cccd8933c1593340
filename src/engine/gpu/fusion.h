// Chooses what the GPU engine computes in one step.
#pragma once

#include "engine/gpu/form.h"
#include "engine/passes/fusion_rules.h"

namespace deepgap::gpu {

// `stored`: type in which numbers are kept between operators.
FusionRules gpu_fusion_rules(Integers integers, Element stored);

}  // namespace deepgap::gpu
