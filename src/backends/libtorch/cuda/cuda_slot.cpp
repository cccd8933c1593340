#include "backends/libtorch/cuda/cuda_slot.h"

#include "backends/libtorch/cuda/cuda_capture.h"

#include <c10/cuda/CUDAGuard.h>

namespace deepgap {

CudaSlot::CudaSlot(const Graph& graph, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place)
    : stream_(c10::cuda::getStreamFromPool(false, target.device.index())),
      inputs_(ports(graph, graph.inputs), largest_batch, target, place, stream_),
      outputs_(graph, largest_batch, true) {}

std::vector<at::Tensor> CudaSlot::compute(TorchNetwork& network, int64_t batch) {
  std::vector<at::Tensor> results = network.run(batch, inputs_.at(batch), nullptr);
  for (size_t i = 0; i < results.size(); ++i) results[i] = outputs_.in_type(i, results[i]);
  return results;
}

void CudaSlot::capture(TorchNetwork& network, int64_t batch) {
  const c10::cuda::CUDAStreamGuard guard(stream_);
  for (int run = 0; run < runs_before_capture; ++run) compute(network, batch);
  stream_.synchronize();
  auto captured = std::make_unique<Captured>();
  deepgap::capture(captured->graph, {0, 0}, [&] { captured->results = compute(network, batch); });
  graphs_[batch] = std::move(captured);
}

void CudaSlot::launch(TorchNetwork& network, const cuda::Samples& staged, std::span<const uint32_t> samples, bool replays) {
  using cuda::QueryEvents;
  const auto batch = static_cast<int64_t>(samples.size());
  const cuda::StreamHandle stream = handle_of(stream_);
  const c10::cuda::CUDAStreamGuard guard(stream_);
  events_.record(QueryEvents::first, stream);
  inputs_.launch(staged, samples, stream_);
  events_.record(QueryEvents::copied, stream);
  std::vector<at::Tensor> results;
  if (replays) {
    Captured& captured = *graphs_.at(batch);
    captured.graph.replay();
    results = captured.results;
  } else {
    results = compute(network, batch);
  }
  events_.record(QueryEvents::computed, stream);
  outputs_.take(results);
  events_.record(QueryEvents::last, stream);
}

}  // namespace deepgap
