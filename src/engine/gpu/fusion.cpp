#include "engine/gpu/fusion.h"

namespace deepgap::gpu {

// All that a fused node can say: what follows an operator is written into its kernel.
FusionRules gpu_fusion_rules(Integers integers) {
  FusionRules rules;
  rules.integers = integers;
  return rules;
}

}  // namespace deepgap::gpu
