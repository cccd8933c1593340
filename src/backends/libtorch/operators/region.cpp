// Runs what has sizes that only the data decide, such as the boxes that NonMaxSuppression keeps, between values of known sizes: one node
// Region (engine/passes/passes.h), which the evaluator computes in the host's memory, in FP32. ATen has no such operator.
#include "backends/libtorch/torch_operator.h"
#include "backends/libtorch/torch_types.h"
#include "model/eval/evaluator.h"

#include <deepgap/error.h>

#include <ATen/Tensor.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>

namespace deepgap {
namespace {

Tensor on_host(const at::Tensor& value, DataType type) {
  const at::Tensor dense = value.to(at::kCPU, torch_type(type)).contiguous();
  Tensor made = make_tensor(type, Shape(dense.sizes().begin(), dense.sizes().end()));
  if (made.bytes() > 0) std::memcpy(writable<std::byte>(made).data(), dense.const_data_ptr(), made.bytes());
  return made;
}

at::Tensor on_target(const Tensor& value, const TorchTarget& target) {
  const at::Tensor made = torch_copy(value);
  return (value.type == DataType::f32 ? made.to(target.floats) : made).to(target.device);
}

TorchStep region(const TorchCall& call) {
  const auto body = std::get<std::shared_ptr<const Graph>>(call.node.attributes.at("body"));
  if (call.target.replayed) {
    const Node& first = body->nodes.front();
    throw Error(ErrorKind::refused,
                fmt::format("libtorch runs operator {} (node '{}') in the host's memory, which no CUDA graph captures: leave "
                            "cuda_graph off",
                            first.op, first.name));
  }
  return [body, target = call.target](TorchFrame& frame) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < frame.inputs(); ++i)
      inputs.push_back(on_host(frame.in(i), body->values[static_cast<size_t>(body->inputs[i])].type));
    const std::vector<Tensor> outputs = evaluate(*body, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) frame.out(i) = on_target(outputs[i], target);
  };
}

const bool registered = add_torch_operator("deepgap.Region", region);

}  // namespace
}  // namespace deepgap
