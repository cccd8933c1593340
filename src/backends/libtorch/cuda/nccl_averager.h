// Averages gradients over the GPUs of one training by NCCL, on a stream of its own beside the backward pass (cuda/rank_averages.h).
#pragma once

#include "backends/libtorch/train/torch_all_reduce.h"
#include "cuda/rank_averages.h"

#include <c10/cuda/CUDAStream.h>

#include <string>

namespace deepgap {

class NcclAverager final : public GradientAverager {
 public:
  // `computes`: the stream that steps run on. Throws as cuda::RankAverages does.
  NcclAverager(const RankExchange& exchange, const TrainSettings& settings, const std::string& device_name,
               const c10::cuda::CUDAStream& computes);
  void average(std::span<const at::Tensor> gradients) override;
  void finish() override;

 private:
  cuda::RankAverages averages_;
  c10::cuda::CUDAStream computes_;
};

}  // namespace deepgap
