// One query's place on the GPU: a stream, inputs and outputs there, and the events between its stages.
#pragma once

#include "backends/libtorch/cuda/cuda_call.h"
#include "backends/libtorch/cuda/cuda_samples.h"
#include "backends/libtorch/torch_network.h"
#include "backends/libtorch/torch_outputs.h"

#include <deepgap/clock.h>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <map>
#include <memory>
#include <vector>

namespace deepgap {

class CudaSlot {
 public:
  CudaSlot(const Graph& graph, int64_t largest_batch, const TorchTarget& target, SamplePlace place);

  // Runs the network a few times and then captures it as a CUDA graph, for this batch size.
  void capture(TorchNetwork& network, int64_t batch);
  bool captured(int64_t batch) const { return graphs_.contains(batch); }

  // Queues copy, work and copy. Returns when all is launched. With `replays`, a captured graph does the work.
  void launch(TorchNetwork& network, const CudaSamples& staged, std::span<const uint32_t> samples, bool replays);
  bool finished() const { return events_[last].passed(); }
  void wait() const { events_[last].wait(); }
  // After finished(): nanoseconds from the begin of the copy to the GPU to the end of it, of the work, and of the copy back.
  std::array<int64_t, 3> durations() const;
  std::span<const TensorView> outputs() const { return outputs_.views(); }
  std::vector<at::Tensor> device_inputs(int64_t batch) const;
  const c10::cuda::CUDAStream& stream() const { return stream_; }

  // Of the query in flight; the Session's.
  uint64_t tag = 0;
  Nanoseconds enqueued = 0;

 private:
  enum Event : size_t { first, copied, computed, last, event_count };
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
  std::vector<GatherIndex> index_;  // of each input
  TorchOutputs outputs_;
  std::array<CudaEvent, event_count> events_;
  std::map<int64_t, std::unique_ptr<Captured>> graphs_;
};

}  // namespace deepgap
