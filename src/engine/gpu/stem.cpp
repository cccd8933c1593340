// The first convolution of a network, over few channels: 7x7 or 3x3 with stride 2 over 3. Its rows of k would be mostly padding as implicit
// GEMM by channels. Here the rows of the picture that a tile needs lie in shared memory with four channels a pixel; what a row of the
// kernel covers is one run of bytes there (padded to 32), so threads read wgmma's first operand with plain loads at a stride.
#include "engine/gpu/stem.h"

#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_epilogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace deepgap::gpu {
namespace {

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct StemPlan {
  int rows = 4;    // of the output, of a tile
  int teams = 2;   // warpgroups
  int blocks = 2;  // on one multiprocessor
  int columns = 64;
  int pixel_bytes = 4, run_steps = 1, steps = 7;  // run_steps: of 32 bytes, for one row of the kernel
  int piece = 1;                                  // pixels that one copy brings
  int origin = 0;                                 // pixels of the padding that lie before the picture
  int row_bytes = 0, source_rows = 0;
  size_t source_bytes = 0, weight_bytes = 0, shared_bytes = 0;
};

StemPlan plan_of(const Convolution& problem, int rows, int teams, int blocks) {
  StemPlan plan;
  plan.rows = rows;
  plan.teams = teams;
  plan.blocks = blocks;
  plan.columns = stem_columns(problem);
  plan.pixel_bytes = static_cast<int>(stem_channels * static_cast<int64_t>(byte_size(problem.source)));
  plan.run_steps = static_cast<int>(divide_up(problem.kernel_w * plan.pixel_bytes, 32));
  plan.steps = plan.run_steps * static_cast<int>(problem.kernel_h);
  plan.piece = copied_pixels(problem);
  plan.origin = static_cast<int>(divide_up(problem.pad_left, plan.piece)) * plan.piece;
  const int64_t last = (problem.out_w - 1) * problem.stride_w + plan.origin - problem.pad_left;
  plan.row_bytes = static_cast<int>(divide_up(last * plan.pixel_bytes + int64_t{plan.run_steps} * 32, 16) * 16);
  plan.source_rows = static_cast<int>((rows - 1) * problem.stride_h + (problem.kernel_h - 1) * problem.dilation_h + 1);
  plan.source_bytes = static_cast<size_t>(plan.row_bytes) * static_cast<size_t>(plan.source_rows);
  plan.weight_bytes = static_cast<size_t>(plan.steps) * static_cast<size_t>(plan.columns) * 32;
  plan.shared_bytes = 1024 + plan.weight_bytes + 2 * plan.source_bytes + static_cast<size_t>(plan.teams * plan.columns * 8) + 16;
  return plan;
}

constexpr std::string_view body = R"(
static const int piece_bytes = piece * pixel_bytes;
static const int row_pieces = row_bytes / piece_bytes;
static const int source_at = weight_bytes, tables_at = source_at + 2 * source_bytes, barrier_at = tables_at + teams * columns * 8;
static const int row_tiles = (out_h + rows - 1) / rows, tiles = batch * row_tiles;
static const int tile_pixels = rows * out_w, tile_blocks = (tile_pixels + 63) / 64;
static const unsigned outside = (source_zero & 255) * 0x01010101u;

// The rows of the picture under a tile, what lies outside of it as well.
__device__ __forceinline__ void fetch(unsigned to, const unsigned char* source, int tile) {
  const int image = tile / row_tiles, top = tile % row_tiles * rows * stride_h - pad_top;
  for (int i = threadIdx.x; i < source_rows * row_pieces; i += teams * 128) {
    const int row = i / row_pieces, x = i % row_pieces * piece - origin, y = top + row;
    const unsigned place = to + row * row_bytes + i % row_pieces * piece_bytes;
    if ((unsigned)y < (unsigned)in_h && (unsigned)x < (unsigned)in_w)
      copy_piece<piece_bytes>(place, source + (((long long)image * in_h + y) * in_w + x) * (in_pitch * Source::bytes));
    else
#pragma unroll
      for (int b = 0; b < piece_bytes; b += 4) store_word(place + b, outside);
  }
}
// Where the run of pixel `pixel` of the tile begins; pixels beyond the tile read the first one's.
__device__ __forceinline__ unsigned run_at(unsigned from, int pixel) {
  if (pixel >= tile_pixels) pixel = 0;
  return from + pixel / out_w * (stride_h * row_bytes) + (pixel % out_w * stride_w + origin - pad_left) * pixel_bytes + threadIdx.x % 4 * 4;
}
__device__ __forceinline__ void load_step(unsigned (&words)[4], unsigned first, unsigned second, int step) {
  const int offset = step / run_steps * (dilation_h * row_bytes) + step % run_steps * 32;
  words[0] = load_copied(first + offset);
  words[1] = load_copied(second + offset);
  words[2] = load_copied(first + offset + 16);
  words[3] = load_copied(second + offset + 16);
}
// 64 pixels of a tile from `from` on.
__device__ __forceinline__ void multiply(Sum (&sums)[columns / 2], unsigned from, unsigned weights, int block) {
  const int pixel = block * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  const unsigned first = run_at(from, pixel), second = run_at(from, pixel + 8);
  unsigned words[2][batch_steps][4];
#pragma unroll
  for (int batch = 0; batch * batch_steps < steps; batch++) {
    if (batch > 1) wait_for_products<1>();  // has read the registers that are filled now
#pragma unroll
    for (int i = 0; i < batch_steps; i++)
      if (batch * batch_steps + i < steps) load_step(words[batch % 2][i], first, second, batch * batch_steps + i);
    begin_products();
#pragma unroll
    for (int i = 0; i < batch_steps; i++) {
      const int step = batch * batch_steps + i;
      if (step < steps) product_of_registers(sums, words[batch % 2][i], rows_at<32>(weights + step * (columns * 32)), step != 0);
    }
    commit_products();
  }
  wait_for_products<0>();
#pragma unroll
  for (int i = 0; i < columns / 2; i++) keep(sums[i]);
}
__device__ __forceinline__ void end_block(Sum (&sums)[columns / 2], const float* table, unsigned char* target, int tile, int block) {
  const int quarter = threadIdx.x % 4, y = tile % row_tiles * rows;
  const int in_tile = block * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  const long long pixel = ((long long)(tile / row_tiles) * out_h + y) * out_w + in_tile;
  const int within = min(tile_pixels, (out_h - y) * out_w);
#pragma unroll
  for (int group = 0; group < columns / (4 * run); group++) {
    float values[2][run];
    end_run(values, table, group, [&](int sum) { return value_of(sums[sum]); }, [](int, int) { return 0.0f; });
    const int channel = group * 4 * run + quarter * run;
#pragma unroll
    for (int half = 0; half < 2; half++)
      if (in_tile + 8 * half < within && channel < out_pitch)
        put_target(target + ((pixel + 8 * half) * out_pitch + channel) * Target::bytes, values[half]);
  }
}

extern "C" __global__ void __launch_bounds__(teams * 128, blocks)
stem(const unsigned char* source, const unsigned char* __restrict__ weights, const float* __restrict__ scale_bias, unsigned char* target) {
  extern __shared__ unsigned char shared_memory[];
  const unsigned begin = shared_address(shared_memory), base = (begin + 1023) & ~1023u;
  const int team = threadIdx.x / 128;
  float* table = (float*)(shared_memory + (base - begin) + tables_at) + team * 2 * columns;
  let_next_begin();
  if (threadIdx.x == 0) {
    make_barrier(base + barrier_at, 1);
    barriers_made();
    expect_bytes(base + barrier_at, weight_bytes);
    copy_bytes(base, weights, weight_bytes, base + barrier_at);
  }
  Table own;
  own.load(scale_bias, 0);
  own.store(table);
  wait_for_previous();
  int tile = blockIdx.x, buffer = 0;
  fetch(base + source_at, source, tile);
  commit_copies();
  __syncthreads();
  wait_for(base + barrier_at, 0);
  Sum sums[columns / 2];
  for (; tile < tiles; tile += gridDim.x, buffer ^= 1) {
    if (tile + gridDim.x < tiles) fetch(base + source_at + (buffer ^ 1) * source_bytes, source, tile + gridDim.x);
    commit_copies();
    wait_for_copies<1>();
    __syncthreads();
    for (int block = team; block < tile_blocks; block += teams) {
      multiply(sums, base + source_at + buffer * source_bytes, base, block);
      end_block(sums, table, target, tile, block);
    }
    __syncthreads();
  }
}
)";

std::string text_of(const Convolution& problem, const StemPlan& plan) {
  std::string text(kernel_prelude());
  text += hopper_prelude();
  text += epilogue_text(problem) + shape_text(problem);
  text += fmt::format(
      "static const int rows = {}, teams = {}, blocks = {}, columns = {}, pixel_bytes = {}, run_steps = {}, steps = {}, piece = {}, "
      "origin = {}, row_bytes = {}, source_rows = {}, source_bytes = {}, weight_bytes = {}, run = {}, table_share = {}, batch_steps = "
      "{};\n",
      plan.rows, plan.teams, plan.blocks, plan.columns, plan.pixel_bytes, plan.run_steps, plan.steps, plan.piece, plan.origin,
      plan.row_bytes, plan.source_rows, plan.source_bytes, plan.weight_bytes, run_of(problem, plan.columns), (plan.columns + 127) / 128,
      std::min(plan.steps, 7));
  return text + product_text(problem, plan.columns) + tile_epilogue_text() + std::string(body);
}

// By step of 32 bytes (row of the kernel, part of its run), column, byte.
std::vector<std::byte> pack(const Convolution& problem, const ConvolutionVariant& variant, const Tensor& weights) {
  const WeightReader reader(problem, weights);
  const StemPlan plan = plan_of(problem, variant.tile[0], variant.tile[1], variant.tile[2]);
  const int run = run_of(problem, plan.columns);
  const auto size = static_cast<int>(operand_bytes(problem.compute));
  std::vector<std::byte> packed(variant.packed_bytes);
  for (int step = 0; step < plan.steps; step++)
    for (int column = 0; column < plan.columns; column++)
      for (int byte = 0; byte < 32; byte += size) {
        const int64_t out = channel_of_column(column, run), at = step % plan.run_steps * 32 + byte;
        const int64_t x = at / plan.pixel_bytes, in = at % plan.pixel_bytes / size;
        if (out >= problem.out_channels || x >= problem.kernel_w || in >= problem.in_channels) continue;
        const size_t offset =
            static_cast<size_t>(step * plan.columns) * 32 + permuted(static_cast<size_t>(column) * 32 + static_cast<size_t>(byte), 32);
        put_operand(packed, offset / static_cast<size_t>(size), problem.compute, reader.at(out, in, step / plan.run_steps, x));
      }
  return packed;
}

ConvolutionVariant variant_of(const Convolution& problem, const StemPlan& plan, const Chip& chip) {
  ConvolutionVariant variant;
  variant.name = fmt::format("stem {}x{} t{} b{}", plan.rows, plan.columns, plan.teams, plan.blocks);
  variant.tile = {plan.rows, plan.teams, plan.blocks};
  variant.pack = pack;
  variant.packed_bytes = plan.weight_bytes;
  Launch launch;
  launch.entry = "stem";
  launch.source = text_of(problem, plan);
  const int64_t tiles = problem.batch * divide_up(problem.out_h, plan.rows);
  launch.grid = {static_cast<unsigned>(std::min<int64_t>(tiles, static_cast<int64_t>(chip.multiprocessors) * plan.blocks)), 1, 1};
  launch.block = {static_cast<unsigned>(plan.teams * 128), 1, 1};
  launch.shared_bytes = plan.shared_bytes;
  launch.overlaps_previous = true;
  launch.arguments = arguments_of(problem);
  variant.launches.push_back(std::move(launch));
  return variant;
}

}  // namespace

int stem_columns(const Convolution& problem) {
  for (const int columns : {16, 32, 48, 64, 96, 128})
    if (columns >= problem.out_pitch && takes_columns(problem.compute, columns)) return columns;
  return 0;
}

int copied_pixels(const Convolution& problem) {
  const int wide = 16 / static_cast<int>(stem_channels * static_cast<int64_t>(byte_size(problem.source)));
  return problem.in_pitch == stem_channels && problem.in_w % wide == 0 ? wide : 1;
}

bool is_stem(const Convolution& problem, const Chip& chip) {
  const int64_t unit = 16 / static_cast<int64_t>(byte_size(problem.source));
  return chip.architecture == 90 && problem.groups == 1 && problem.in_channels <= stem_channels && problem.compute != ComputeType::f32 &&
         (problem.in_pitch == stem_channels || problem.in_pitch == unit) && problem.dilation_w == 1 && problem.batch > 0 &&
         problem.kernel_h * problem.kernel_w > 1 && problem.kernel_h * problem.kernel_w <= 64 && stem_columns(problem) > 0 &&
         !problem.epilogue.has_residual() && problem.batch * problem.out_h < INT32_MAX;
}

std::vector<ConvolutionVariant> stem_variants(const Convolution& problem, const Chip& chip) {
  if (!is_stem(problem, chip)) return {};
  std::vector<ConvolutionVariant> variants;
  constexpr std::array<std::array<int, 2>, 6> shapes{{{8, 4}, {4, 1}, {8, 2}, {4, 2}, {2, 1}, {1, 1}}};  // rows, teams
  for (const auto& [rows, teams] : shapes) {
    const StemPlan once = plan_of(problem, rows, teams, 1);
    const int registers = once.columns / 2 + 8 * std::min(once.steps, 7) + 40;
    const auto by_registers = 65536 / (teams * 128 * registers);
    const auto by_shared = static_cast<int>((chip.shared_bytes + 1024) / (once.shared_bytes + 1024));
    const int blocks = std::min({by_registers, by_shared, rows == 1 ? 3 : 6});
    if (rows <= std::max<int64_t>(1, problem.out_h) && blocks > 0)
      variants.push_back(variant_of(problem, plan_of(problem, rows, teams, blocks), chip));
  }
  return variants;
}

}  // namespace deepgap::gpu
