// What the CPU engine computes in one step: as primitives of oneDNN with what follows, as kernels of its own, or by the evaluator.
#pragma once

#include "engine/passes/fusion_rules.h"

namespace deepgap {

FusionRules cpu_fusion_rules(Integers integers);

}  // namespace deepgap
