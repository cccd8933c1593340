#include "backends/libtorch/torch_outputs.h"

#include "backends/common/port.h"
#include "backends/libtorch/torch_types.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

namespace deepgap {
namespace {

// Touched when made: no query pays for page faults.
at::Tensor touched_bytes(size_t bytes, bool pinned) {
  return at::zeros({static_cast<int64_t>(bytes)}, at::TensorOptions(at::kByte).pinned_memory(pinned));
}

}  // namespace

TorchOutputs::TorchOutputs(const Graph& graph, int64_t largest_batch, bool pinned)
    : graph_(graph), pinned_(pinned), buffers_(graph.outputs.size()), shapes_(graph.outputs.size()), views_(graph.outputs.size()) {
  const std::vector<Port> outputs = ports(graph, graph.outputs);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (const auto shape = outputs[i].shape(largest_batch)) buffers_[i] = touched_bytes(bytes_of(outputs[i].type, *shape), pinned);
  }
}

at::Tensor TorchOutputs::place_for(size_t output, const at::Tensor& result) {
  const DataType type = graph_.values[static_cast<size_t>(graph_.outputs[output])].type;
  shapes_[output].assign(result.sizes().begin(), result.sizes().end());
  const size_t bytes = bytes_of(type, shapes_[output]);
  at::Tensor& buffer = buffers_[output];
  if (!buffer.defined() || static_cast<size_t>(buffer.numel()) < bytes) buffer = touched_bytes(bytes, pinned_);
  auto* data = static_cast<std::byte*>(buffer.mutable_data_ptr());
  views_[output] = {type, shapes_[output], data};
  return at::from_blob(data, shapes_[output], at::TensorOptions(torch_type(type)));
}

at::Tensor TorchOutputs::in_type(size_t output, const at::Tensor& result) const {
  return result.to(torch_type(graph_.values[static_cast<size_t>(graph_.outputs[output])].type)).contiguous();
}

void TorchOutputs::take(std::span<const at::Tensor> results) {
  for (size_t i = 0; i < results.size(); ++i) place_for(i, results[i]).copy_(results[i], pinned_);
}

}  // namespace deepgap
