#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_epilogue.h"
#include "engine/gpu/wgmma.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

// Where things lie in shared memory, which tile comes when.
constexpr std::string_view layout = R"(
static const int rows_bytes = tile_rows * step_bytes;  // of one copy
static const int stage_rows_bytes = stage_steps * rows_bytes;
static const int stage_bytes = stage_rows_bytes + (resident ? 0 : stage_steps * weight_bytes);
static const int stages_at = resident ? steps * weight_bytes : 0;
static const int tables_at = stages_at + stages * stage_bytes;
static const int barriers_at = tables_at + teams * columns * 8;
static const int tile_stages = steps / stage_steps;
static const int groups_of_columns = columns / (4 * run);
static const int product_sums = columns / products / 2;  // of one thread

__device__ __forceinline__ unsigned full_at(unsigned base, unsigned stage) { return base + barriers_at + 8 * stage; }
__device__ __forceinline__ unsigned empty_at(unsigned base, unsigned stage) { return base + barriers_at + 8 * (stages + stage); }

// Phase i: the stages of tile i have all come.
__device__ __forceinline__ unsigned turn_at(unsigned base) { return base + barriers_at + 8 * (2 * stages + 1); }

// Tile number `index` of this block: rows from row * tile_rows on, columns from column * columns on.
__device__ __forceinline__ bool tile_at(int index, int& row, int& column) {
  if (resident) {
    column = blockIdx.x % column_tiles;
    row = blockIdx.x / column_tiles + index * (gridDim.x / column_tiles);
    return row < row_tiles;
  }
  const int linear = blockIdx.x + index * gridDim.x;
  column = linear % column_tiles;
  row = linear / column_tiles;
  return row < row_tiles;
}
// Rows of a tile that are before this team's.
__device__ __forceinline__ int rows_before() { return turns ? 0 : threadIdx.x / 128 * (64 * row_blocks); }
)";

constexpr std::string_view producer = R"(
struct Start { int x, y, image; };
__device__ __forceinline__ Start start_of(long long pixel) {
  const int x = (int)(pixel % out_w), y = (int)(pixel / out_w % out_h);
  return {x * stride_w - pad_left, y * stride_h - pad_top, (int)(pixel / out_w / out_h)};
}

// One thread: waits for a stage to be free, orders its bytes, goes on.
__device__ __forceinline__ void produce(unsigned base, const Map& source, const unsigned char* weights) {
  int row, column;
  if (resident && tile_at(0, row, column)) {
    const unsigned barrier = full_at(base, 2 * stages);
    expect_bytes(barrier, steps * weight_bytes);
    for (int step = 0; step < steps; step++)
      copy_bytes(base + step * weight_bytes, weights + ((long long)column * steps + step) * weight_bytes, weight_bytes, barrier);
  }
  wait_for_previous();
  unsigned stage = 0, parity = 1;
  for (int index = 0; tile_at(index, row, column); index++) {
    const Start start = start_of((long long)row * tile_rows);
    const unsigned char* tile_weights = weights + (long long)column * steps * weight_bytes;
    int channels = 0, right = 0, down = 0;
    for (int step = 0; step < steps; stage = stage + 1 == stages ? 0 : stage + 1, parity ^= stage == 0) {
      const unsigned full = full_at(base, stage), rows = base + stages_at + stage * stage_bytes;
      wait_for(empty_at(base, stage), parity);
      expect_bytes(full, stage_bytes);
#pragma unroll
      for (int part = 0; part < stage_steps; part++, step++) {
        if (plain) copy_rows(rows + part * rows_bytes, source, full, channels * step_elements, row * tile_rows);
        else copy_pixels(rows + part * rows_bytes, source, full, channels * step_elements, start.x, start.y, start.image, right, down);
        if (++channels == tap_steps) {
          channels = 0;
          right += dilation_w;
          if (right == kernel_w * dilation_w) { right = 0; down += dilation_h; }
        }
        if (!resident)
          copy_bytes(rows + stage_rows_bytes + part * weight_bytes, tile_weights + (long long)step * weight_bytes, weight_bytes, full);
      }
    }
  }
}
)";

constexpr std::string_view consumer = R"(
// This thread's place in a tile: its first row and channel.
struct Corner {
  long long pixel;
  int channel;
  __device__ __forceinline__ void go_to(int row, int column) {
    const int thread = threadIdx.x % 128;
    pixel = (long long)row * tile_rows + rows_before() + thread / 32 * 16 + thread % 32 / 4;
    channel = column * columns + thread % 4 * run;
  }
  __device__ __forceinline__ bool inside(int block, int half, int group) const {
    return pixel + 64 * block + 8 * half < pixels && (whole_columns || channel + group * 4 * run < out_pitch);
  }
  __device__ __forceinline__ long long element(int block, int half, int group) const {
    return (pixel + 64 * block + 8 * half) * out_pitch + channel + group * 4 * run;
  }
};
)";

constexpr std::string_view multiplying = R"(
// Every warp says so by itself: a stage is free when all have read it.
__device__ __forceinline__ void release(unsigned base, unsigned stage, int lane) {
  if (lane == 0) arrive(empty_at(base, stage));
}

// One team: multiplies what the stages bring, then ends the sums. Where teams take turns the stages of a tile are read by one of them, which
// begins when the team before has seen all of its own come: a barrier's parity tells one phase from the next, no more.
__device__ __forceinline__ void consume(unsigned base, float* tables, const float* scale_bias, const unsigned char* residual, unsigned char* target) {
  const int lane = threadIdx.x % 32;
  Team own(tables, scale_bias, residual, target);
  if (resident && own.more) wait_for(full_at(base, 2 * stages), 0);
  Sum sums[row_blocks][products][product_sums];
  unsigned position = own.first_tile() * tile_stages;
  for (int index = own.first_tile(); own.more; index += tiles_apart) {
    own.begin(index);
    if (turns && index > 0) {
      if (resident) meet(1 + threadIdx.x / 128, 128);  // else they have met at the end: none is ahead of its own team
      wait_for(turn_at(base), (index - 1) & 1);
    }
    for (int k = 0; k < tile_stages; k++, position++) {
      const unsigned stage = position % stages;
      const unsigned rows = base + stages_at + stage * stage_bytes;
      wait_for(full_at(base, stage), position / stages & 1);
      begin_products();
#pragma unroll
      for (int part = 0; part < stage_steps; part++) {
        const unsigned from = resident ? base + (k * stage_steps + part) * weight_bytes : rows + stage_rows_bytes + part * weight_bytes;
#pragma unroll
        for (int i = 0; i < step_bytes / 32; i++)
#pragma unroll
          for (int block = 0; block < row_blocks; block++)
#pragma unroll
            for (int n = 0; n < products; n++)
              product(sums[block][n],
                      rows_at<step_bytes>(rows + part * rows_bytes + (rows_before() + block * 64) * step_bytes + 32 * i),
                      rows_at<step_bytes>(from + n * (2 * product_sums * step_bytes) + 32 * i), (k | part | i) != 0);
      }
      commit_products();
      wait_for_products<1>();
      if (k > 0) release(base, (position - 1) % stages, lane);
    }
    if (turns && lane == 0) arrive(turn_at(base));
    wait_for_products<0>();
    release(base, (position - 1) % stages, lane);
    position += (tiles_apart - 1) * tile_stages;
    own.end(sums);
  }
}
)";

constexpr std::string_view barriers = R"(
    make_ring(full_at(base, 0), empty_at(base, 0), stages);
    make_barrier(full_at(base, 2 * stages), 1);
    if (turns) make_barrier(turn_at(base), 4);)";

std::string constants_text(const Convolution& problem, const WgmmaPlan& plan) {
  const WgmmaTile& tile = plan.tile;
  const auto flag = [](std::string_view name, bool value) { return fmt::format("static const bool {} = {};\n", name, value); };
  std::string text =
      tile_constants_text(tile) +
      fmt::format(
          "static const int stage_steps = {}, stages = {}, run = {}, tap_steps = {}, steps = {}, column_tiles = {}, row_tiles = {}, "
          "weight_bytes = {}, step_elements = {}, kept_groups = {}, products = {};\n",
          tile.stage_steps, tile.stages, plan.run, plan.tap_steps, plan.steps, plan.column_tiles, plan.row_tiles, plan.weight_bytes,
          tile.step_bytes / byte_size(problem.source), kept_groups_of(problem, tile),
          products_of(problem.compute, tile.columns, tile.entry_registers()));
  return text + flag("plain", plan.plain) + flag("resident", tile.resident) + flag("whole_columns", problem.out_pitch % tile.columns == 0);
}

}  // namespace

std::string wgmma_text(const Convolution& problem, const WgmmaPlan& plan) {
  std::string text(kernel_prelude());
  text += hopper_prelude();
  text += epilogue_text(problem) + shape_text(problem) + constants_text(problem, plan) +
          product_text(problem, plan.tile.columns / products_of(problem.compute, plan.tile.columns, plan.tile.entry_registers()));
  text += tile_epilogue_text();
  for (const std::string_view part : {layout, producer, consumer, tile_rows_text(), multiplying}) text += part;
  return text + team_kernel_text("wgmma", plan.tile, problem.epilogue.has_residual(), barriers);
}

}  // namespace deepgap::gpu
