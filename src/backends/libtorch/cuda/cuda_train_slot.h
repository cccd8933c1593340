// One step's place on a GPU: its samples there, its loss, and the events between its parts. Steps follow each other on one stream, which
// all slots share as they share the weights.
#pragma once

#include "backends/libtorch/cuda/cuda_query.h"
#include "backends/libtorch/train/torch_trainer.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace deepgap {

class CudaTrainSlot : public CudaQuery<at::Tensor> {
 public:
  CudaTrainSlot(const std::vector<Port>& inputs, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place,
                const c10::cuda::CUDAStream& stream, bool reduces);

  // Runs the step as it is launched without a graph; `runs` times.
  void run(TorchTrainer& trainer, int64_t batch, int runs);
  // Captures a whole step of this batch as a CUDA graph, which works in `pool` with those of other batches and slots. After run().
  void capture(TorchTrainer& trainer, int64_t batch, at::cuda::MempoolId_t pool);
  // Queues copies and step, and the copy of its loss. Returns when all is launched.
  void launch(TorchTrainer& trainer, const cuda::Samples& staged, std::span<const uint32_t> samples, bool replays);

  std::span<const TensorView> outputs() const { return {&output_, 1}; }

 private:
  at::Tensor step(TorchTrainer& trainer, int64_t batch, bool in_graph);

  at::Tensor loss_;  // pinned
  Shape loss_shape_{1};
  TensorView output_;
  std::array<cuda::EventHandle, 3> parts_{};  // by TrainPart
};

}  // namespace deepgap
