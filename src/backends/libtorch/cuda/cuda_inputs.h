// The inputs of one slot on a GPU: buffers for the largest batch, and how a query's samples come into them.
#pragma once

#include "backends/common/port.h"
#include "backends/libtorch/torch_target.h"
#include "cuda/samples.h"

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <span>
#include <vector>

namespace deepgap {

cuda::StreamHandle handle_of(const c10::cuda::CUDAStream& stream);

class CudaInputs {
 public:
  // Their memory belongs to `stream`.
  CudaInputs(std::vector<Port> inputs, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place,
             const c10::cuda::CUDAStream& stream);
  // Views of the same bytes at each batch size, so that a captured graph finds its inputs.
  std::vector<at::Tensor> at(int64_t batch) const;
  // Queues the copies of `samples`.
  void launch(const cuda::Samples& staged, std::span<const uint32_t> samples, const c10::cuda::CUDAStream& stream);

 private:
  int64_t bytes(size_t input, int64_t batch) const;

  std::vector<Port> inputs_;
  std::vector<TorchForm> forms_;    // form of each input
  std::vector<at::Tensor> device_;  // bytes of each input at the largest batch
  cuda::GatherSpace space_;
};

}  // namespace deepgap
