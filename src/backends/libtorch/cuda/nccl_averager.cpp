#include "backends/libtorch/cuda/nccl_averager.h"

#include "backends/libtorch/cuda/cuda_inputs.h"

#include <vector>

namespace deepgap {

NcclAverager::NcclAverager(const RankExchange& exchange, const TrainSettings& settings, const std::string& device_name,
                           const c10::cuda::CUDAStream& computes)
    : averages_(exchange, settings.rank, settings.ranks, device_name), computes_(computes) {}

// Gradients are dense, and lie until finish().
void NcclAverager::average(std::span<const at::Tensor> gradients) {
  std::vector<cuda::DeviceFloats> numbers;
  for (const at::Tensor& gradient : gradients) numbers.push_back({gradient.mutable_data_ptr(), static_cast<size_t>(gradient.numel())});
  averages_.begin(numbers, handle_of(computes_));
}

void NcclAverager::finish() { averages_.finish(handle_of(computes_)); }

}  // namespace deepgap
