// The part of the text of mma.cpp's kernels that ends their sums.
#include "engine/gpu/kernel_file.h"
#include "engine/gpu/mma.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

std::string meeting_text(const Convolution& problem, const MmaTile& tile) {
  const bool integers = problem.compute == ComputeType::i8;
  const std::string text = fmt::format(R"(
__device__ __forceinline__ Sum as_sum(unsigned w) {{ return {}; }}
__device__ __forceinline__ unsigned as_bits(Sum sum) {{ return {}; }}
)",
                                       integers ? "(int)w" : "__uint_as_float(w)", integers ? "(unsigned)sum" : "__float_as_uint(sum)");
  if (tile.split > 1)
    return text + R"(
#define MEET cluster_barrier
#define PART cluster_barrier
__device__ __forceinline__ uint4 load_part(const unsigned char* shared, int offset, int block) {
  return load_cluster16(address_in_block(shared_address(shared) + offset, block));
}
)";
  return text + R"(
#define MEET __syncthreads
#define PART()
__device__ __forceinline__ uint4 load_part(const unsigned char* shared, int offset, int k) {
  return *(const uint4*)(shared + k * tile_m * (tile_n + 8) * 4 + offset);
}
)";
}

}  // namespace

std::string mma_epilogue_text(const Convolution& problem, const MmaTile& tile) {
  if (!tile.staged()) return kernel_file("mma_end") + kernel_file("mma_end_in_registers");
  return kernel_file("mma_end") + meeting_text(problem, tile) + kernel_file("mma_end_in_shared_memory");
}

}  // namespace deepgap::gpu
