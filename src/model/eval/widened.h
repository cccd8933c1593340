// 16-bit floats for operators that are written for float32 and float64: inputs are widened, which is exact, and what comes out as float32
// is rounded once to the type of the first floating-point input. Engines without 16-bit arithmetic do the same.
#pragma once

#include "model/eval/operator.h"

namespace deepgap {

std::vector<Tensor> compute_widened(const Call& call, Operator function);

// For the table of operators: add_operator("Sqrt", widened<square_root>).
template <Operator function>
std::vector<Tensor> widened(const Call& call) {
  return compute_widened(call, function);
}

}  // namespace deepgap
