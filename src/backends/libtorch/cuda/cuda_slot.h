// One query's place on the GPU: a stream, inputs and outputs there, and the events between its stages.
#pragma once

#include "backends/libtorch/cuda/cuda_inputs.h"
#include "backends/libtorch/torch_network.h"
#include "backends/libtorch/torch_outputs.h"
#include "cuda/completion_thread.h"
#include "cuda/samples.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#include <memory>
#include <vector>

namespace deepgap {

class CudaSlot {
 public:
  CudaSlot(const Graph& graph, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place);

  // Runs the network a few times and then captures it as a CUDA graph, for this batch size.
  void capture(TorchNetwork& network, int64_t batch);
  bool captured(int64_t batch) const { return graphs_.contains(batch); }

  // Queues copy, work and copy. Returns when all is launched. With `replays`, a captured graph does the work.
  void launch(TorchNetwork& network, const cuda::Samples& staged, std::span<const uint32_t> samples, bool replays);
  cuda::QueryEvents& events() { return events_; }
  std::span<const TensorView> outputs() const { return outputs_.views(); }
  std::vector<at::Tensor> device_inputs(int64_t batch) const { return inputs_.at(batch); }
  const c10::cuda::CUDAStream& stream() const { return stream_; }

 private:
  struct Captured {
    at::cuda::CUDAGraph graph;
    std::vector<at::Tensor> results;
  };
  std::vector<at::Tensor> compute(TorchNetwork& network, int64_t batch);

  c10::cuda::CUDAStream stream_;
  CudaInputs inputs_;
  TorchOutputs outputs_;
  cuda::QueryEvents events_;
  std::map<int64_t, std::unique_ptr<Captured>> graphs_;
};

}  // namespace deepgap
