// The outputs of one slot in the Graph's types: bytes that are kept until the next batch.
#pragma once

#include <deepgap/graph.h>
#include <deepgap/tensor.h>

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

namespace deepgap {

class TorchOutputs {
 public:
  // `pinned`: in memory that a GPU copies to by itself. The Graph outlives this.
  TorchOutputs(const Graph& graph, int64_t largest_batch, bool pinned);
  // A result in its output's type and order, on its own device.
  at::Tensor in_type(size_t output, const at::Tensor& result) const;
  // Copies each result to the host, into pinned memory without waiting for it; from then on the views show them.
  void take(std::span<const at::Tensor> results);
  std::span<const TensorView> views() const { return views_; }

 private:
  at::Tensor place_for(size_t output, const at::Tensor& result);

  const Graph& graph_;
  bool pinned_;
  std::vector<at::Tensor> buffers_;  // bytes
  std::vector<Shape> shapes_;
  std::vector<TensorView> views_;
};

}  // namespace deepgap
