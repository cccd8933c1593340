// What the GPU engine computes in one step.
#pragma once

#include "engine/passes/fusion_rules.h"

namespace deepgap::gpu {

FusionRules gpu_fusion_rules(Integers integers);

}  // namespace deepgap::gpu
