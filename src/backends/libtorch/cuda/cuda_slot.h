// One query's place on the GPU: a stream of its own, inputs and outputs there.
#pragma once

#include "backends/libtorch/cuda/cuda_query.h"
#include "backends/libtorch/torch_network.h"
#include "backends/libtorch/torch_outputs.h"

#include <cstdint>
#include <span>
#include <vector>

namespace deepgap {

class CudaSlot : public CudaQuery<std::vector<at::Tensor>> {
 public:
  CudaSlot(const Graph& graph, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place);

  // Runs the network a few times and then captures it as a CUDA graph, for this batch size.
  void capture(TorchNetwork& network, int64_t batch);

  // Queues copy, work and copy. Returns when all is launched. With `replays`, a captured graph does the work.
  void launch(TorchNetwork& network, const cuda::Samples& staged, std::span<const uint32_t> samples, bool replays);
  std::span<const TensorView> outputs() const { return outputs_.views(); }

 private:
  std::vector<at::Tensor> compute(TorchNetwork& network, int64_t batch);

  TorchOutputs outputs_;
};

}  // namespace deepgap
