// The slot of a LibTorch Session on a GPU, whatever a query computes: a stream, inputs there, the events between its stages, and its work
// as CUDA graphs.
#pragma once

#include "backends/libtorch/cuda/cuda_capture.h"
#include "backends/libtorch/cuda/cuda_inputs.h"
#include "cuda/completion_thread.h"
#include "cuda/samples.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace deepgap {

// `Result`: what the work leaves on the GPU, tensors.
template <typename Result>
class CudaQuery {
 public:
  bool captured(int64_t batch) const { return graphs_.contains(batch); }
  cuda::QueryEvents& events() { return events_; }
  std::vector<at::Tensor> device_inputs(int64_t batch) const { return inputs_.at(batch); }
  const c10::cuda::CUDAStream& stream() const { return stream_; }

 protected:
  CudaQuery(std::vector<Port> inputs, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place,
            const c10::cuda::CUDAStream& stream)
      : stream_(stream), inputs_(std::move(inputs), largest_batch, target, place, stream) {}
  ~CudaQuery() = default;

  // Launches `work` for this batch size and returns its results. The slot's stream is the current one.
  template <typename Work>
  void capture_work(int64_t batch, at::cuda::MempoolId_t pool, const Work& work) {
    auto captured = std::make_unique<Captured>();
    deepgap::capture(captured->graph, pool, [&] { captured->result = work(); });
    graphs_[batch] = std::move(captured);
  }

  // Queues the copies of `samples`, the work, and with `take` the copies of its result. Returns when all is launched. With `replays`, a
  // captured graph does the work.
  template <typename Work, typename Take>
  void launch_stages(const cuda::Samples& staged, std::span<const uint32_t> samples, bool replays, const Work& work, const Take& take) {
    using cuda::QueryEvents;
    const cuda::StreamHandle stream = handle_of(stream_);
    const c10::cuda::CUDAStreamGuard guard(stream_);
    events_.record(QueryEvents::first, stream);
    inputs_.launch(staged, samples, stream_);
    events_.record(QueryEvents::copied, stream);
    Result result = replays ? replayed(static_cast<int64_t>(samples.size())) : work();
    events_.record(QueryEvents::computed, stream);
    take(result);
    events_.record(QueryEvents::last, stream);
  }

 private:
  struct Captured {
    at::cuda::CUDAGraph graph;
    Result result;
  };
  Result replayed(int64_t batch) {
    Captured& captured = *graphs_.at(batch);
    captured.graph.replay();
    return captured.result;
  }

  c10::cuda::CUDAStream stream_;
  CudaInputs inputs_;
  cuda::QueryEvents events_;
  std::map<int64_t, std::unique_ptr<Captured>> graphs_;
};

}  // namespace deepgap
