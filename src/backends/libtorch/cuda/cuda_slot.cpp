#include "backends/libtorch/cuda/cuda_slot.h"

#include <c10/cuda/CUDAGuard.h>

namespace deepgap {

CudaSlot::CudaSlot(const Graph& graph, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place)
    : CudaQuery(ports(graph, graph.inputs), largest_batch, target, place, c10::cuda::getStreamFromPool(false, target.device.index())),
      outputs_(graph, largest_batch, true) {}

std::vector<at::Tensor> CudaSlot::compute(TorchNetwork& network, int64_t batch) {
  std::vector<at::Tensor> results = network.run(batch, device_inputs(batch), nullptr);
  for (size_t i = 0; i < results.size(); ++i) results[i] = outputs_.in_type(i, results[i]);
  return results;
}

void CudaSlot::capture(TorchNetwork& network, int64_t batch) {
  const c10::cuda::CUDAStreamGuard guard(stream());
  for (int run = 0; run < runs_before_capture; ++run) compute(network, batch);
  stream().synchronize();
  capture_work(batch, {0, 0}, [&] { return compute(network, batch); });
}

void CudaSlot::launch(TorchNetwork& network, const cuda::Samples& staged, std::span<const uint32_t> samples, bool replays) {
  launch_stages(
      staged, samples, replays, [&] { return compute(network, static_cast<int64_t>(samples.size())); },
      [&](const std::vector<at::Tensor>& results) { outputs_.take(results); });
}

}  // namespace deepgap
