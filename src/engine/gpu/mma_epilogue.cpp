// How the kernels of mma.cpp end their sums: part of their text.
#include "engine/gpu/mma.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

constexpr std::string_view ending = R"(
// Ends `vector` neighbours of one pixel and stores them. `channel` counts in all of the target.
__device__ __forceinline__ void end_and_store(const Sum* sums, const float* scale, const float* bias, const unsigned* words, unsigned char* target,
                                              long long at, int channel) {
  float v[vector];
#pragma unroll
  for (int c = 0; c < vector; c++) {
    v[c] = ended(sums[c], scale[c], bias[c], has_residual ? residual_of(words, c) : 0.0f);
    if (out_channels % vector != 0 && channel + c >= out_channels) v[c] = 0.0f;
  }
  put_target(target + at * Target::bytes, v);
}
__device__ __forceinline__ void load_scale_bias(const float* scale_bias, int channel, float (&scale)[vector], float (&bias)[vector]) {
  if (has_scale) load_floats(scale_bias + channel, scale);
  load_floats(scale_bias + out_pitch + channel, bias);
}
static const int residual_words = (vector * Residual::bytes + 3) / 4;
)";

constexpr std::string_view ending_in_registers = R"(
__device__ __forceinline__ void end_tile(Sum (&sums)[rows][columns], unsigned char*, const float* scale_bias, const unsigned char* residual,
                                         unsigned char* target, long long first_pixel, int first_channel, int last_channel, int warp_row,
                                         int warp_column, int, int) {
  const int lane = threadIdx.x % 32;
  const int at_once = rows < 4 ? rows : 4;
#pragma unroll
  for (int block = 0; block < columns / vector; block++) {
    const int channel = first_channel + warp_column + (block * 4 + lane % 4) * vector;
    if (channel >= last_channel) break;
    float scale[vector], bias[vector];
    load_scale_bias(scale_bias, channel, scale, bias);
#pragma unroll
    for (int begin = 0; begin < rows; begin += at_once) {
      unsigned words[at_once][residual_words];
#pragma unroll
      for (int i = 0; i < at_once; i++) {
        const long long pixel = first_pixel + warp_row + lane / 4 + (begin + i) * 8;
        if (has_residual && pixel < pixels) get_residual<vector>(residual + (pixel * out_pitch + channel) * Residual::bytes, words[i]);
      }
#pragma unroll
      for (int i = 0; i < at_once; i++) {
        const long long pixel = first_pixel + warp_row + lane / 4 + (begin + i) * 8;
        if (pixel < pixels) end_and_store(&sums[begin + i][block * vector], scale, bias, words[i], target, pixel * out_pitch + channel, channel);
      }
    }
  }
}
)";

// Each part of the sum goes to shared memory, the warps' parts of a block are added there; then every block of the cluster ends its share
// of the tile. Parts are added in a fixed order, and all of them are read before the first is added: a read from another block takes long.
constexpr std::string_view ending_in_shared_memory = R"(
static const int staged_pitch = tile_n + 8, row_vectors = tile_n / vector, parts = split > 1 ? split : warps_k;
__device__ __forceinline__ uint4 added(uint4 a, uint4 b) {
  return make_uint4(as_bits(as_sum(a.x) + as_sum(b.x)), as_bits(as_sum(a.y) + as_sum(b.y)), as_bits(as_sum(a.z) + as_sum(b.z)),
                    as_bits(as_sum(a.w) + as_sum(b.w)));
}
__device__ __forceinline__ void end_tile(Sum (&sums)[rows][columns], unsigned char* shared, const float* scale_bias, const unsigned char* residual,
                                         unsigned char* target, long long first_pixel, int first_channel, int last_channel, int warp_row,
                                         int warp_column, int part, int rank) {
  const int lane = threadIdx.x % 32;
  wait_for_copies<0>();
  __syncthreads();
  Sum* staged = (Sum*)shared;
#pragma unroll
  for (int i = 0; i < rows; i++)
#pragma unroll
    for (int j = 0; j < columns; j++)
      staged[(part * tile_m + warp_row + lane / 4 + i * 8) * staged_pitch + warp_column + column_of(j)] = sums[i][j];
  if (split > 1 && warps_k > 1) {
    __syncthreads();
    for (int item = threadIdx.x; item < tile_m * row_vectors; item += threads) {
      uint4* const first = (uint4*)(staged + item / row_vectors * staged_pitch + item % row_vectors * vector);
      uint4 total = *first;
#pragma unroll
      for (int k = 1; k < warps_k; k++) total = added(total, first[k * tile_m * staged_pitch / 4]);
      *first = total;
    }
  }
  MEET();
  const int share = tile_m * row_vectors / split;
  for (int item = rank * share + threadIdx.x; item < (rank + 1) * share; item += threads) {
    const int row = item / row_vectors, column = item % row_vectors * vector, channel = first_channel + column;
    const long long pixel = first_pixel + row;
    if (pixel >= pixels || channel >= last_channel) continue;
    uint4 w[parts];
#pragma unroll
    for (int i = 0; i < parts; i++) w[i] = load_part(shared, (row * staged_pitch + column) * 4, i);
    unsigned words[residual_words];
    if (has_residual) get_residual<vector>(residual + (pixel * out_pitch + channel) * Residual::bytes, words);
    float scale[vector], bias[vector];
    load_scale_bias(scale_bias, channel, scale, bias);
#pragma unroll
    for (int i = 1; i < parts; i++) w[0] = added(w[0], w[i]);
    const Sum total[vector] = {as_sum(w[0].x), as_sum(w[0].y), as_sum(w[0].z), as_sum(w[0].w)};
    end_and_store(total, scale, bias, words, target, pixel * out_pitch + channel, channel);
  }
  PART();
}
)";

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
  if (!tile.staged()) return std::string(ending) + std::string(ending_in_registers);
  return std::string(ending) + meeting_text(problem, tile) + std::string(ending_in_shared_memory);
}

}  // namespace deepgap::gpu
