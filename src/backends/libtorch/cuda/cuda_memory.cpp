#include "backends/libtorch/cuda/cuda_memory.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>

// Declared as in ATen/cuda/CUDAContextLight.h. That header wants those of cuBLAS, cuSOLVER and cuSPARSE too, which only a toolkit has.
namespace at::cuda {
TORCH_CUDA_CPP_API void clearCublasWorkspaces();
}

namespace deepgap {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
constexpr size_t both = 0;  // index in the allocator's statistics: small and large blocks together

}  // namespace

MemoryUse cuda_memory_use(c10::Device device, int64_t samples_bytes, int64_t held_by_graphs) {
  const auto stats = allocator::getDeviceStats(device.index());
  return {stats.reserved_bytes[both].current + samples_bytes, stats.allocated_bytes[both].current + held_by_graphs + samples_bytes,
          stats.allocated_bytes[both].peak + held_by_graphs + samples_bytes};
}

int64_t memory_held_by_graphs(c10::Device device) {
  allocator::emptyCache();
  int64_t held = 0;
  for (const auto& segment : allocator::snapshot().segments) {
    const bool of_a_graph = segment.owner_private_pool_id != c10::cuda::MempoolId_t{0, 0};
    if (of_a_graph && segment.device == device.index())
      held += static_cast<int64_t>(segment.total_size) - static_cast<int64_t>(segment.allocated_size);
  }
  return held;
}

void give_back_cuda_memory() {
  at::cuda::clearCublasWorkspaces();  // one of 32 MiB for each stream, kept for the process's life otherwise
  allocator::emptyCache();
}

void allow_tf32(bool allowed) {
  at::globalContext().setAllowTF32CuDNN(allowed);
  at::globalContext().setAllowTF32CuBLAS(allowed);
}

}  // namespace deepgap
