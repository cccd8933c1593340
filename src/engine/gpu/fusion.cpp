#include "engine/gpu/fusion.h"

namespace deepgap::gpu {

// All that a fused node can say: what follows an operator is written into its kernel.
FusionRules gpu_fusion_rules(Integers integers, Element stored) {
  FusionRules rules;
  rules.join_projections = is_half(stored);  // as lower_attention
  rules.pointwise_takes_sum = true;          // see chain.h
  rules.elementwise.insert("Concat");
  rules.integers = integers;
  return rules;
}

}  // namespace deepgap::gpu
