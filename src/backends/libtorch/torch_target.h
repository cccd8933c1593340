// Where a network computes and in what; what its inputs become; and PyTorch's autocast while it runs.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace deepgap {

struct TorchTarget {
  at::Device device{at::kCPU};
  at::ScalarType floats = at::kFloat;    // weights and activations that are float32 in the Graph
  at::ScalarType autocast = at::kFloat;  // other than float32: PyTorch's autocast to this type
  bool channels_last = false;            // four-dimensional inputs and convolution weights lie channels last
  bool replayed = false;                 // its work is captured once and replayed: no step may come back to the host
  bool trains = false;                   // batches have statistics of their own, Dropout drops, and gradients are asked for
  at::TensorOptions options() const { return at::TensorOptions(device).dtype(floats); }
};

// In the target's type and layout.
at::Tensor torch_input(const at::Tensor& given, const TorchTarget& target);

// The form that torch_input() gives a tensor.
struct TorchForm {
  at::ScalarType type = at::kFloat;
  bool channels_last = false;
};
TorchForm torch_input_form(at::ScalarType type, size_t dimensions, const TorchTarget& target);

// PyTorch's autocast for as long as this lives, on this thread; nothing where the target has none.
class TorchAutocast {
 public:
  explicit TorchAutocast(const TorchTarget& target);
  ~TorchAutocast();
  TorchAutocast(const TorchAutocast&) = delete;
  TorchAutocast& operator=(const TorchAutocast&) = delete;

 private:
  at::DeviceType kind_;
  bool on_;
};

// No autocast for as long as this lives: what only moves elements takes every type, autocast of float16 on a CPU does not.
class TorchNoAutocast {
 private:
  c10::impl::ExcludeDispatchKeyGuard guard_{c10::autocast_dispatch_keyset};
};

}  // namespace deepgap
