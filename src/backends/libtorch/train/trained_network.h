// For tests: samples of small networks to be trained (model/trained_chain.h).
#pragma once

#include "backends/libtorch/torch_target.h"
#include "model/trained_chain.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/sin.h>

#include <vector>

namespace deepgap {

// Samples of it, and their classes.
inline std::vector<at::Tensor> pictures(int64_t batch) {
  return {at::sin(at::arange(0, batch * 16, at::kFloat)).reshape({batch, 1, 4, 4}), at::arange(0, batch, at::kLong).remainder(3)};
}

inline TorchTarget train_target() {
  TorchTarget target;
  target.trains = true;
  return target;
}

}  // namespace deepgap
