// Chooses what the CPU engine computes in one step: primitives of oneDNN with what follows, kernels of its own, or the evaluator.
#pragma once

#include "engine/passes/fusion_rules.h"

namespace deepgap {

FusionRules cpu_fusion_rules(Integers integers);

}  // namespace deepgap
