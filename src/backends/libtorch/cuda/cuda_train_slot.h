// One step's place on a GPU: its samples there, its loss, and the events between its parts. Steps follow each other on one stream, which
// all slots share as they share the weights.
#pragma once

#include "backends/libtorch/cuda/cuda_inputs.h"
#include "backends/libtorch/train/torch_trainer.h"
#include "cuda/completion_thread.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace deepgap {

class CudaTrainSlot {
 public:
  CudaTrainSlot(const std::vector<Port>& inputs, int64_t largest_batch, const TorchTarget& target, cuda::SamplePlace place,
                const c10::cuda::CUDAStream& stream, bool reduces);

  // Runs the step as it is launched without a graph; `runs` times.
  void run(TorchTrainer& trainer, int64_t batch, int runs);
  // Captures a whole step of this batch as a CUDA graph, which works in `pool` with those of other batches and slots. After run().
  void capture(TorchTrainer& trainer, int64_t batch, at::cuda::MempoolId_t pool);
  bool captured(int64_t batch) const { return graphs_.contains(batch); }
  // Queues copies and step, and the copy of its loss. Returns when all is launched.
  void launch(TorchTrainer& trainer, const cuda::Samples& staged, std::span<const uint32_t> samples, bool replays);

  std::vector<at::Tensor> inputs(int64_t batch) const { return inputs_.at(batch); }
  cuda::QueryEvents& events() { return events_; }
  std::span<const TensorView> outputs() const { return {&output_, 1}; }

 private:
  struct Captured {
    at::cuda::CUDAGraph graph;
    at::Tensor loss;
  };
  at::Tensor step(TorchTrainer& trainer, int64_t batch, bool in_graph);

  c10::cuda::CUDAStream stream_;
  CudaInputs inputs_;
  at::Tensor loss_;  // pinned
  Shape loss_shape_{1};
  TensorView output_;
  cuda::QueryEvents events_;
  std::array<cuda::EventHandle, 3> parts_{};  // by TrainPart
  std::map<int64_t, std::unique_ptr<Captured>> graphs_;
};

}  // namespace deepgap
