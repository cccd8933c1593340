#include "engine/cpu/fusion.h"

namespace deepgap {

FusionRules cpu_fusion_rules(Integers integers) {
  FusionRules rules;
  rules.integers = integers;
  rules.single_elements = false;  // there is little to win, and oneDNN 3.2 computes it wrongly for more than one sample
  return rules;
}

}  // namespace deepgap
