// The text of the kernels of mma.cpp.
//
// A block makes a tile of tile_m pixels by tile_n channels. The sum's axis, k, goes over the kernel's places and, within a place, over
// channels; it is counted in chunks of 16 bytes, `row_bytes` / 16 of them in a step. A step's tiles of source and weights lie in shared
// memory as rows of row_bytes (one pixel, one channel), `stages` steps deep: while the products of one step are computed, the next ones are
// under way (cp.async). Chunks within a row are exchanged by the row's number so that neither writing nor ldmatrix meets a bank twice.
// Every product unit reads 16 bytes of eight rows in the same order, so one kernel serves all precisions; only multiply_step differs.
//
// A thread's sums are [tile of a warp / 8 rows][/ 4 columns]. Weights are packed so that a thread's columns are neighbouring channels: it
// ends them and stores 16 bytes by itself. Where several warps or blocks (a cluster) share a tile's sum, they meet in shared memory
// instead.
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/mma.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

constexpr std::string_view loading = R"(
static const int threads = 32 * warps_m * warps_n * warps_k;
static const int row_chunks = row_bytes / 16, step_bytes_a = tile_m * row_bytes, step_bytes_b = tile_n * row_bytes;
static const int rows_apart = threads / row_chunks;
static const int loads_a = (tile_m + rows_apart - 1) / rows_apart, chunks_b = tile_n * row_chunks, loads_b = (chunks_b + threads - 1) / threads;
static const int warp_m = tile_m / warps_m, warp_n = tile_n / warps_n, rows = warp_m / 8, columns = warp_n / 4;
// The largest tiles of a warp leave no registers to load further ahead.
static const int unrolled = rows * columns >= 128 && (rounds_source || loads_a >= 8 && threads < 256) ? 1 : row_bytes / 32;
static const int source_pixel_bytes = in_pitch * Source::bytes;

__device__ __forceinline__ int swizzled(int row, int chunk) {
  return row_bytes == 128 ? row * 128 + ((chunk ^ (row & 7)) << 4) : row * 64 + ((chunk ^ (row >> 1 & 3)) << 4);
}

// The pixels that a thread loads (offsets of 32 bits wrap around, so that they are added as such and take no register pairs): where the first place of the kernel lies for each, and which places are inside of the picture.
struct Pixels {
  Offset offset[loads_a];
  unsigned inside[loads_a];  // bit y, bit 16 + x; without a border: not 0
};
__device__ __forceinline__ Pixels pixels_of(long long first, int group) {
  Pixels p;
#pragma unroll
  for (int i = 0; i < loads_a; i++) {
    const int row = threadIdx.x / row_chunks + i * rows_apart;
    const long long pixel = first + row;
    const bool live = row < tile_m && pixel < pixels;
    int y = 0, x = 0;
    long long image = 0;
    if (live) {
      const Index at = (Index)pixel;
      x = (int)(at % out_w);
      y = (int)(at / out_w % out_h);
      image = at / (out_w * out_h);
    }
    const int in_y = y * stride_h - pad_top, in_x = x * stride_w - pad_left;
    p.offset[i] = (Offset)(((image * in_h + in_y) * in_w + in_x) * source_pixel_bytes + group * super_in * Source::bytes);
    if (!border) {
      p.inside[i] = live;
      continue;
    }
    unsigned inside = 0;
#pragma unroll
    for (int r = 0; r < kernel_h; r++) inside |= ((unsigned)(in_y + r * dilation_h) < (unsigned)in_h ? 1u : 0u) << r;
#pragma unroll
    for (int s = 0; s < kernel_w; s++) inside |= ((unsigned)(in_x + s * dilation_w) < (unsigned)in_w ? 1u : 0u) << (16 + s);
    p.inside[i] = live ? inside : 0;
  }
  return p;
}

__device__ __forceinline__ void load_source(const unsigned char* source, const Pixels& p, int step, unsigned to) {
  const int column = threadIdx.x % row_chunks;
  int place, chunk;
  if (place_chunks % row_chunks == 0) {  // one place a step
    place = step / (place_chunks / row_chunks);
    chunk = step % (place_chunks / row_chunks) * row_chunks + column;
  } else {
    place = (step * row_chunks + column) / place_chunks;
    chunk = (step * row_chunks + column) % place_chunks;
  }
  const int r = place / kernel_w, s = place % kernel_w;
  const Offset offset = (Offset)((r * dilation_h * in_w + s * dilation_w) * source_pixel_bytes + chunk * 16);
  const bool within = place < kernel_h * kernel_w;
#pragma unroll
  for (int i = 0; i < loads_a; i++) {
    const int row = threadIdx.x / row_chunks + i * rows_apart;
    if (tile_m % rows_apart != 0 && row >= tile_m) break;
    const bool inside = border ? (p.inside[i] >> r & p.inside[i] >> (16 + s) & 1) != 0 : p.inside[i] != 0;
    const bool valid = within && inside;
    const unsigned place_of_chunk = to + swizzled(row, column);
    if (border && outside_word != 0) {
      if (valid) cp_async16(place_of_chunk, source + (p.offset[i] + offset));
      else store_shared16(place_of_chunk, outside_word, outside_word, outside_word, outside_word);
    } else {
      cp_async16(place_of_chunk, valid ? source + (p.offset[i] + offset) : source, valid);
    }
  }
}

// They lie as the steps' tiles are in shared memory.
__device__ __forceinline__ void load_weights(const unsigned char* weights, int step, unsigned to) {
  const unsigned char* from = weights + (long long)step * step_bytes_b;
#pragma unroll
  for (int i = 0; i < loads_b; i++) {
    const int chunk = threadIdx.x + i * threads;
    if (chunks_b % threads == 0 || chunk < chunks_b) cp_async16(to + chunk * 16, from + chunk * 16);
  }
}
)";

constexpr std::string_view tensor_cores = R"(
__device__ __forceinline__ void multiply_step(Sum (&sums)[rows][columns], unsigned a_tile, unsigned b_tile, int warp_row, int warp_column, int part) {
  const int lane = threadIdx.x % 32;
#pragma unroll unrolled
  for (int k = 0; k < row_bytes / 32 / warps_k; k++) {
    const int chunk = (k + part * (row_bytes / 32 / warps_k)) * 2;
    unsigned a[warp_m / 16][4], b[warp_n / 16][4];
#pragma unroll
    for (int i = 0; i < warp_m / 16; i++) {
      load_matrices(a[i], a_tile + swizzled(warp_row + i * 16 + lane % 16, chunk + lane / 16));
      if (rounds_source) {
#pragma unroll
        for (int e = 0; e < 4; e++) a[i][e] = __float_as_uint(rounded_to_tf32(__uint_as_float(a[i][e])));
      }
    }
#pragma unroll
    for (int j = 0; j < warp_n / 16; j++)
      load_matrices(b[j], b_tile + swizzled(warp_column + j * 16 + lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2));
#pragma unroll
    for (int i = 0; i < warp_m / 16; i++)
#pragma unroll
      for (int j = 0; j < warp_n / 8; j++)
        multiply(sums[2 * i][2 * j], sums[2 * i][2 * j + 1], sums[2 * i + 1][2 * j], sums[2 * i + 1][2 * j + 1], a[i], b[j / 2][j % 2 * 2],
                 b[j / 2][j % 2 * 2 + 1]);
  }
}
// Where a thread's column lies among its warp's.
__device__ __forceinline__ int column_of(int column) { return column / 2 * 8 + threadIdx.x % 4 * 2 + column % 2; }
)";

constexpr std::string_view plain_floats = R"(
__device__ __forceinline__ float4 load_shared16(unsigned address) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address) : "memory");
  return v;
}
__device__ __forceinline__ void multiply_step(Sum (&sums)[rows][columns], unsigned a_tile, unsigned b_tile, int warp_row, int warp_column, int part) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < row_chunks / warps_k; k++) {
    const int chunk = k + part * (row_chunks / warps_k);
    float4 a[rows];
#pragma unroll
    for (int i = 0; i < rows; i++) a[i] = load_shared16(a_tile + swizzled(warp_row + lane / 4 + i * 8, chunk));
#pragma unroll
    for (int j = 0; j < columns; j++) {
      const float4 b = load_shared16(b_tile + swizzled(warp_column + j * 4 + lane % 4, chunk));
#pragma unroll
      for (int i = 0; i < rows; i++)
        sums[i][j] = fmaf(a[i].w, b.w, fmaf(a[i].z, b.z, fmaf(a[i].y, b.y, fmaf(a[i].x, b.x, sums[i][j]))));
    }
  }
}
__device__ __forceinline__ int column_of(int column) { return column * 4 + threadIdx.x % 4; }
)";

constexpr std::string_view body = R"(
  extern __shared__ __align__(128) unsigned char shared[];
  const unsigned base = shared_address(shared);
  const unsigned rank = split > 1 ? RANK() : 0;
  const unsigned tile = blockIdx.x / split;
  const long long first_pixel = (long long)(tile / tiles_n) * tile_m;
  const int tile_column = tile % tiles_n, group = blockIdx.y;
  const int begin = rank * steps_each, end = begin + steps_each < steps ? begin + steps_each : steps, count = end > begin ? end - begin : 0;
  const unsigned char* own_weights = weights + ((long long)(group * tiles_n + tile_column) * steps + begin) * step_bytes_b;
  const unsigned tiles_b = base + stages * step_bytes_a;
  const Pixels p = pixels_of(first_pixel, group);
#pragma unroll
  for (int s = 0; s < stages - 1; s++)
    if (s < count) load_weights(own_weights, s, tiles_b + s * step_bytes_b);
  wait_for_previous();
  let_next_begin();
#pragma unroll
  for (int s = 0; s < stages - 1; s++) {
    if (s < count) load_source(source, p, begin + s, base + s * step_bytes_a);
    commit_copies();
  }
  const int warp = threadIdx.x / 32, part = warp / (warps_m * warps_n);
  const int warp_row = warp % warps_m * warp_m, warp_column = warp / warps_m % warps_n * warp_n;
  Sum sums[rows][columns];
#pragma unroll
  for (int i = 0; i < rows; i++)
#pragma unroll
    for (int j = 0; j < columns; j++) sums[i][j] = 0;
  int slot = 0, next_slot = stages - 1;
#pragma unroll 1
  for (int step = 0; step < count; step++) {
    wait_for_copies<stages - 2>();
    __syncthreads();
    const int next = step + stages - 1;
    if (next < count) {
      load_weights(own_weights, next, tiles_b + next_slot * step_bytes_b);
      load_source(source, p, begin + next, base + next_slot * step_bytes_a);
    }
    commit_copies();
    multiply_step(sums, base + slot * step_bytes_a, tiles_b + slot * step_bytes_b, warp_row, warp_column, part);
    slot = slot + 1 == stages ? 0 : slot + 1;
    next_slot = next_slot + 1 == stages ? 0 : next_slot + 1;
  }
  const int last = (group + 1) * super_out, last_channel = group + 1 == super_groups ? out_pitch : last;
  end_tile(sums, shared, scale_bias, residual, target, first_pixel, group * super_out + tile_column * tile_n, last_channel, warp_row, warp_column,
           part, rank);
}
)";

std::string multiply_text(const Convolution& problem) {
  std::string_view name = "mma_f16";
  if (problem.compute == ComputeType::bf16) name = "mma_bf16";
  if (problem.compute == ComputeType::tf32) name = "mma_tf32";
  if (problem.compute == ComputeType::f8) name = "mma_e4m3";
  if (problem.compute == ComputeType::i8) name = problem.source == Element::u8 ? "mma_u8" : "mma_s8";
  return fmt::format("#define multiply {}\nstatic const bool rounds_source = {};\n", name, problem.compute == ComputeType::tf32);
}

std::string constants(const Convolution& problem, const MmaTile& tile, const MmaSplit& s) {
  const int64_t source_bytes = (problem.batch + 1) * (problem.in_h + problem.kernel_h) * problem.in_w * problem.in_pitch *
                               static_cast<int64_t>(byte_size(problem.source));
  const bool small = source_bytes < INT32_MAX && problem.batch * problem.out_h * problem.out_w < INT32_MAX;
  std::string text =
      fmt::format("typedef {} Offset;\ntypedef {} Index;\n", small ? "unsigned" : "long long", small ? "unsigned" : "unsigned long long");
  const auto zero = static_cast<uint32_t>(static_cast<uint8_t>(problem.source_zero)) * 0x01010101u;
  text += fmt::format("static const bool border = {};\nstatic const unsigned outside_word = {}u;\n", reads_outside(problem), zero);
  text += constant_text("tile_m", tile.m) + constant_text("tile_n", tile.n) + constant_text("row_bytes", tile.row_bytes);
  text += constant_text("stages", tile.stages) + constant_text("warps_m", tile.warps_m) + constant_text("warps_n", tile.warps_n);
  text += constant_text("warps_k", tile.warps_k) + constant_text("split", tile.split) + constant_text("vector", s.vector);
  text += constant_text("place_chunks", s.place_chunks) + constant_text("steps", s.steps);
  text += constant_text("steps_each", (s.steps + tile.split - 1) / tile.split);
  text += constant_text("tiles_n", s.tiles_n) + constant_text("super_groups", s.groups);
  return text + constant_text("super_in", s.in) + constant_text("super_out", s.out);
}

}  // namespace

std::string mma_text(const Convolution& problem, const MmaTile& tile, const MmaSplit& split) {
  const bool floats = problem.compute == ComputeType::f32;
  std::string text(kernel_prelude());
  text += epilogue_text(problem) + shape_text(problem) + constants(problem, tile, split);
  text += multiply_text(problem);
  text += std::string(loading) + std::string(floats ? plain_floats : tensor_cores) + mma_epilogue_text(problem, tile);
  text += tile.split > 1 ? "#define RANK rank_in_cluster\n" : "#define RANK() 0\n";
  return text + head_text(problem, "mma", static_cast<unsigned>(tile.threads())) + std::string(body);
}

}  // namespace deepgap::gpu
