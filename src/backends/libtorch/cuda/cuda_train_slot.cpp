#include "backends/libtorch/cuda/cuda_train_slot.h"

#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

namespace deepgap {

CudaTrainSlot::CudaTrainSlot(const std::vector<Port>& inputs, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place,
                             const c10::cuda::CUDAStream& stream, bool reduces)
    : CudaQuery(inputs, largest_batch, target, place, stream),
      loss_(at::zeros({1}, at::TensorOptions(at::kFloat).pinned_memory(true))),
      output_{DataType::f32, loss_shape_, static_cast<const std::byte*>(loss_.const_data_ptr())} {
  parts_[static_cast<size_t>(TrainPart::forward)] = events().add_part(MarkId::forward_end);
  parts_[static_cast<size_t>(TrainPart::backward)] = events().add_part(MarkId::backward_end);
  if (reduces) parts_[static_cast<size_t>(TrainPart::allreduce)] = events().add_part(MarkId::allreduce_end);
}

// If parts alternate (accumulation), the last of each counts: forward passes but the last count as backward.
at::Tensor CudaTrainSlot::step(TorchTrainer& trainer, int64_t batch, bool in_graph) {
  return trainer.step(batch, device_inputs(batch), [&](TrainPart part) {
    const auto event = reinterpret_cast<cudaEvent_t>(parts_[static_cast<size_t>(part)]);
    if (event == nullptr) return;
    C10_CUDA_CHECK(cudaEventRecordWithFlags(event, stream().stream(), in_graph ? cudaEventRecordExternal : cudaEventRecordDefault));
  });
}

void CudaTrainSlot::run(TorchTrainer& trainer, int64_t batch, int runs) {
  const c10::cuda::CUDAStreamGuard guard(stream());
  for (int run = 0; run < runs; ++run) step(trainer, batch, false);
  stream().synchronize();
}

void CudaTrainSlot::capture(TorchTrainer& trainer, int64_t batch, at::cuda::MempoolId_t pool) {
  const c10::cuda::CUDAStreamGuard guard(stream());
  capture_work(batch, pool, [&] { return step(trainer, batch, true); });
}

void CudaTrainSlot::launch(TorchTrainer& trainer, const cuda::Samples& staged, std::span<const uint32_t> samples, bool replays) {
  launch_stages(
      staged, samples, replays, [&] { return step(trainer, static_cast<int64_t>(samples.size()), false); },
      [&](const at::Tensor& loss) { loss_.copy_(loss, true); });
}

}  // namespace deepgap
