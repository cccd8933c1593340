// One query's place on the GPU: a stream, inputs and outputs there, and the events between its stages.
#pragma once

#include "backends/common/port.h"
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

// What a query finds in an input of a slot: the Graph's type and layout, or with `ready` the network's.
TorchForm input_form(const Port& input, const TorchTarget& target, cuda::SamplePlace place);
cuda::StreamHandle handle_of(const c10::cuda::CUDAStream& stream);

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
  std::vector<at::Tensor> device_inputs(int64_t batch) const;
  const c10::cuda::CUDAStream& stream() const { return stream_; }

 private:
  struct Captured {
    at::cuda::CUDAGraph graph;
    std::vector<at::Tensor> results;
  };
  int64_t input_bytes(size_t input, int64_t batch) const;
  std::vector<at::Tensor> compute(TorchNetwork& network, int64_t batch);

  std::vector<Port> inputs_;
  std::vector<TorchForm> forms_;  // of each input
  c10::cuda::CUDAStream stream_;
  std::vector<at::Tensor> device_;  // bytes of each input at the largest batch
  cuda::GatherSpace space_;
  TorchOutputs outputs_;
  cuda::QueryEvents events_;
  std::map<int64_t, std::unique_ptr<Captured>> graphs_;
};

}  // namespace deepgap
