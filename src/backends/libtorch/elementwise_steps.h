// Steps that call one function of ATen on their inputs.
#pragma once

#include "backends/libtorch/torch_operator.h"

namespace deepgap {

using Unary = at::Tensor (*)(const at::Tensor&);
using Binary = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

template <Unary function>
TorchStep unary(const TorchCall&) {
  return one_output([](const TorchFrame& frame) { return function(frame.in(0)); });
}

template <Binary function>
TorchStep binary(const TorchCall&) {
  return one_output([](const TorchFrame& frame) { return function(frame.in(0), frame.in(1)); });
}

}  // namespace deepgap
