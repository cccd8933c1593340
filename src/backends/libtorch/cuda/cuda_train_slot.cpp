#include "backends/libtorch/cuda/cuda_train_slot.h"

#include "backends/libtorch/cuda/cuda_capture.h"

#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

namespace deepgap {

CudaTrainSlot::CudaTrainSlot(const std::vector<Port>& inputs, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place,
                             const c10::cuda::CUDAStream& stream, bool reduces)
    : stream_(stream),
      inputs_(inputs, largest_batch, target, place, stream),
      loss_(at::zeros({1}, at::TensorOptions(at::kFloat).pinned_memory(true))),
      output_{DataType::f32, loss_shape_, static_cast<const std::byte*>(loss_.const_data_ptr())} {
  parts_[static_cast<size_t>(TrainPart::forward)] = events_.add_part(MarkId::forward_end);
  parts_[static_cast<size_t>(TrainPart::backward)] = events_.add_part(MarkId::backward_end);
  if (reduces) parts_[static_cast<size_t>(TrainPart::allreduce)] = events_.add_part(MarkId::allreduce_end);
}

// Parts that alternate (accumulation) are told apart by the last of each: forward passes but the last count as backward.
at::Tensor CudaTrainSlot::step(TorchTrainer& trainer, int64_t batch, bool in_graph) {
  return trainer.step(batch, inputs_.at(batch), [&](TrainPart part) {
    const auto event = reinterpret_cast<cudaEvent_t>(parts_[static_cast<size_t>(part)]);
    if (event == nullptr) return;
    C10_CUDA_CHECK(cudaEventRecordWithFlags(event, stream_.stream(), in_graph ? cudaEventRecordExternal : cudaEventRecordDefault));
  });
}

void CudaTrainSlot::run(TorchTrainer& trainer, int64_t batch, int runs) {
  const c10::cuda::CUDAStreamGuard guard(stream_);
  for (int run = 0; run < runs; ++run) step(trainer, batch, false);
  stream_.synchronize();
}

void CudaTrainSlot::capture(TorchTrainer& trainer, int64_t batch, at::cuda::MempoolId_t pool) {
  const c10::cuda::CUDAStreamGuard guard(stream_);
  auto captured = std::make_unique<Captured>();
  deepgap::capture(captured->graph, pool, [&] { captured->loss = step(trainer, batch, true); });
  graphs_[batch] = std::move(captured);
}

void CudaTrainSlot::launch(TorchTrainer& trainer, const cuda::Samples& staged, std::span<const uint32_t> samples, bool replays) {
  using cuda::QueryEvents;
  const auto batch = static_cast<int64_t>(samples.size());
  const cuda::StreamHandle stream = handle_of(stream_);
  const c10::cuda::CUDAStreamGuard guard(stream_);
  events_.record(QueryEvents::first, stream);
  inputs_.launch(staged, samples, stream_);
  events_.record(QueryEvents::copied, stream);
  at::Tensor loss;
  if (replays) {
    Captured& captured = *graphs_.at(batch);
    captured.graph.replay();
    loss = captured.loss;
  } else {
    loss = step(trainer, batch, false);
  }
  events_.record(QueryEvents::computed, stream);
  loss_.copy_(loss, true);
  events_.record(QueryEvents::last, stream);
}

}  // namespace deepgap
