#include "backends/libtorch/step_integers.h"

#include <utility>

namespace deepgap {

StepIntegers::StepIntegers(const TorchCall& call, size_t input) : input_(input) {
  if (call.is_constant(input) || call.target.device.is_cuda()) known_ = call.integers(input);
}

std::vector<int64_t> StepIntegers::of(const TorchFrame& frame) const {
  if (known_) return *known_;
  const at::Tensor numbers = frame.in(input_).to(at::kLong).contiguous();
  const auto* first = numbers.const_data_ptr<int64_t>();
  return {first, first + numbers.numel()};
}

StepIntegers step_integers(const TorchCall& call, const char* attribute, size_t input, const std::vector<int64_t>& fallback) {
  if (call.node.attributes.contains(attribute)) return StepIntegers(call.ints_of(attribute, fallback));
  return call.has(input) ? StepIntegers(call, input) : StepIntegers(fallback);
}

}  // namespace deepgap
