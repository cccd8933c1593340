// Updates weights by their gradients: PyTorch's optimizers by ATen's fused kernels, one call for all weights, and
// PyTorch's scaling of losses whose gradients are too small for float16. One thread at a time; no gradient mode is on
// while it works.
#pragma once

#include <deepgap/train.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace deepgap {

class TorchOptimizer {
 public:
  // `weights` are leaves; their gradients are read and dropped by update().
  TorchOptimizer(const TrainSettings& settings, std::vector<at::Tensor> weights);
  void update(const at::Tensor& overflowed);  // undefined: nothing can have overflowed; else 1 makes it do nothing
  void reset();
  int64_t state_bytes() const;

 private:
  TrainSettings settings_;
  std::vector<at::Tensor> weights_;
  std::vector<at::Tensor> first_, second_;  // momentum, or Adam's averages of gradients and of their squares
  std::vector<at::Tensor> steps_;           // Adam's, one for each weight
};

// The factor that a loss is multiplied with before the backward pass. Where gradients overflow the update is left out; a factor that
// adapts is halved then, and doubled after 2000 updates without that.
class TorchLossScale {
 public:
  // `factor` 1: none; 0: one that adapts and begins with 1024 (PyTorch begins with 65536, where most networks overflow once or twice).
  TorchLossScale(double factor, at::Device device);
  bool on() const { return on_; }
  at::Tensor scaled(const at::Tensor& loss) const;
  // Divides the gradients by the factor, and returns what TorchOptimizer::update() takes.
  at::Tensor unscale(const std::vector<at::Tensor>& gradients);
  void adapt();  // after the update
  void reset();

 private:
  bool on_, adapts_;
  double begin_;
  at::Tensor factor_, grown_for_, overflowed_;
};

}  // namespace deepgap
