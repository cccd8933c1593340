#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_epilogue.h"
#include "engine/gpu/window.h"

#include <fmt/format.h>

namespace deepgap::gpu {
namespace {

constexpr std::string_view layout = R"(
static const bool resident = weight_stages == 0;
static const int source_at = resident ? channel_steps * taps * weight_bytes : weight_stages * weight_bytes;
static const int source_stage_bytes = regions * region_bytes;
static const int tables_at = source_at + source_stages * source_stage_bytes;
static const int barriers_at = tables_at + teams * columns * 8;
static const int groups_of_columns = columns / (4 * run);
static const int product_sums = columns / products / 2;
static const int region_total = batch * row_regions;
static const int region_units = tile_rows / regions;  // rows of the product that a region has

__device__ __forceinline__ unsigned source_full(unsigned base, unsigned stage) { return base + barriers_at + 8 * stage; }
__device__ __forceinline__ unsigned source_empty(unsigned base, unsigned stage) { return base + barriers_at + 8 * (source_stages + stage); }
__device__ __forceinline__ unsigned weights_full(unsigned base, unsigned stage) { return base + barriers_at + 8 * (2 * source_stages + stage); }
__device__ __forceinline__ unsigned weights_empty(unsigned base, unsigned stage) {
  return base + barriers_at + 8 * (2 * source_stages + weight_stages + stage);
}
__device__ __forceinline__ bool tile_at(int index, int& row, int& column) {
  const int linear = blockIdx.x + index * gridDim.x;  // of resident weights the grid is a multiple of column_tiles
  column = linear % column_tiles;
  row = linear / column_tiles;
  return row < row_tiles;
}

__device__ __forceinline__ void produce(unsigned base, const Map& source, const unsigned char* weights) {
  int row, column;
  if (resident && tile_at(0, row, column)) {
    expect_bytes(weights_full(base, 0), channel_steps * taps * weight_bytes);
    for (int i = 0; i < channel_steps * taps; i++)
      copy_bytes(base + i * weight_bytes, weights + ((long long)column * (channel_steps * taps) + i) * weight_bytes, weight_bytes,
                 weights_full(base, 0));
  }
  wait_for_previous();
  unsigned position = 0, weight_position = 0;
  for (int index = 0; tile_at(index, row, column); index++) {
    const unsigned char* from = weights + (long long)column * (channel_steps * taps) * weight_bytes;
    for (int step = 0; step < channel_steps; step++, position++) {
      const unsigned stage = position % source_stages, full = source_full(base, stage);
      wait_for(source_empty(base, stage), (position / source_stages & 1) ^ 1);
      expect_bytes(full, regions * box_bytes);
      for (int i = 0; i < regions; i++) {
        const int region = row * regions + i;  // beyond the last image the copy engine fills zeros
        copy_box(base + source_at + stage * source_stage_bytes + i * region_bytes, source, full, step * step_elements, -pad_left,
                 region % row_regions * region_rows - pad_top, region / row_regions);
      }
      if (!resident)
        for (int tap = 0; tap < taps; tap++, weight_position++, from += weight_bytes) {
          const unsigned weight_stage = weight_position % (weight_stages + resident);
          wait_for(weights_empty(base, weight_stage), (weight_position / (weight_stages + resident) & 1) ^ 1);
          expect_bytes(weights_full(base, weight_stage), weight_bytes);
          copy_bytes(base + weight_stage * weight_bytes, from, weight_bytes, weights_full(base, weight_stage));
        }
    }
  }
}

// Where the rows of a thread lie in the target; -1: nowhere.
struct Corner {
  int pixel[row_blocks][2];
  int channel;
  __device__ __forceinline__ void go_to(int row, int column) {
    const int thread = threadIdx.x % 128;
    channel = column * columns + thread % 4 * run;
#pragma unroll
    for (int block = 0; block < row_blocks; block++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int unit = (threadIdx.x / 128 * row_blocks + block) * 64 + thread / 32 * 16 + thread % 32 / 4 + 8 * half;
        const int region = row * regions + unit / region_units, of_region = unit % region_units;
        const int x = of_region % padded_w, of_rows = of_region / padded_w, y = region % row_regions * region_rows + of_rows;
        const bool there = region < region_total && x < out_w && of_rows < region_rows && y < out_h;
        pixel[block][half] = there ? (region / row_regions * out_h + y) * out_w + x : -1;
      }
  }
  __device__ __forceinline__ bool inside(int block, int half, int group) const {
    return pixel[block][half] >= 0 && (whole_columns || channel + group * 4 * run < out_pitch);
  }
  __device__ __forceinline__ long long element(int block, int half, int group) const {
    return (long long)pixel[block][half] * out_pitch + channel + group * 4 * run;
  }
};
)";

constexpr std::string_view multiplying = R"(
__device__ __forceinline__ void consume(unsigned base, float* tables, const float* scale_bias, const unsigned char* residual, unsigned char* target) {
  const int team = threadIdx.x / 128, lane = threadIdx.x % 32;
  Team own(tables, scale_bias, residual, target);
  if (resident && own.more) wait_for(weights_full(base, 0), 0);
  Sum sums[row_blocks][products][product_sums];
  unsigned position = 0, weight_position = 0;
  for (int index = 0; own.more; index++) {
    own.begin(index);
    for (int step = 0; step < channel_steps; step++, position++) {
      const unsigned stage = position % source_stages;
      wait_for(source_full(base, stage), position / source_stages & 1);
      const unsigned rows = base + source_at + stage * source_stage_bytes;
      for (int down = 0; down < kernel_h; down++)
#pragma unroll
        for (int right = 0; right < kernel_w; right++, weight_position++) {
          const int tap = down * kernel_w + right;
          const unsigned weight_stage = weight_position % (weight_stages + resident);
          if (!resident) wait_for(weights_full(base, weight_stage), weight_position / (weight_stages + resident) & 1);
          const unsigned from = base + (resident ? step * taps + tap : weight_stage) * weight_bytes;
          const unsigned first = rows + (down * dilation_h * padded_w + right * dilation_w) * step_bytes;
          begin_products();
#pragma unroll
          for (int i = 0; i < step_bytes / 32; i++)
#pragma unroll
            for (int block = 0; block < row_blocks; block++) {
              const int unit = (team * row_blocks + block) * 64;
              const unsigned at = first + unit / region_units * region_bytes + unit % region_units * step_bytes;
#pragma unroll
              for (int n = 0; n < products; n++)
                product(sums[block][n], rows_at<step_bytes>(at + 32 * i), rows_at<step_bytes>(from + n * (2 * product_sums * step_bytes) + 32 * i),
                        (step | tap | i) != 0);
            }
          commit_products();
          wait_for_products<1>();
          if (!resident && (step | tap) != 0 && lane == 0) arrive(weights_empty(base, (weight_position - 1) % (weight_stages + resident)));
          if (tap == 0 && step > 0 && lane == 0) arrive(source_empty(base, (position - 1) % source_stages));
        }
    }
    wait_for_products<0>();
    if (!resident && lane == 0) arrive(weights_empty(base, (weight_position - 1) % (weight_stages + resident)));
    if (lane == 0) arrive(source_empty(base, (position - 1) % source_stages));
    own.end(sums);
  }
}
)";

constexpr std::string_view barriers = R"(
    make_ring(source_full(base, 0), source_empty(base, 0), source_stages);
    if (resident) make_barrier(weights_full(base, 0), 1);
    make_ring(weights_full(base, 0), weights_empty(base, 0), weight_stages);)";

std::string constants_text(const Convolution& problem, const WindowPlan& plan) {
  const WindowTile& tile = plan.tile;
  const int products = products_of(problem.compute, tile.columns, tile.entry_registers());
  std::string text =
      tile_constants_text(tile) + fmt::format(
                                      "static const int regions = {}, source_stages = {}, weight_stages = {}, run = {}, "
                                      "products = {}, kept_groups = {}, step_elements = "
                                      "{};\n",
                                      tile.regions, tile.source_stages, tile.weight_stages, run_of(problem, tile.columns), products,
                                      kept_groups_of(problem, tile), tile.step_bytes / static_cast<int>(byte_size(problem.source)));
  text += fmt::format(
      "static const int padded_w = {}, region_rows = {}, row_regions = {}, row_tiles = {}, column_tiles = {}, channel_steps = {}, taps = "
      "{}, "
      "region_bytes = {}, box_bytes = {}, weight_bytes = {};\nstatic const bool whole_columns = {};\n",
      plan.padded_w, plan.region_rows, plan.row_regions, plan.row_tiles, plan.column_tiles, plan.channel_steps, plan.taps,
      plan.region_bytes, plan.box_bytes, plan.weight_bytes, problem.out_pitch % tile.columns == 0);
  return text + product_text(problem, tile.columns / products);
}

}  // namespace

std::string window_text(const Convolution& problem, const WindowPlan& plan) {
  std::string text(kernel_prelude());
  text += hopper_prelude();
  text += epilogue_text(problem) + shape_text(problem) + constants_text(problem, plan) + tile_epilogue_text();
  for (const std::string_view part : {layout, tile_rows_text(), multiplying}) text += part;
  return text + team_kernel_text("window", plan.tile, problem.epilogue.has_residual(), barriers);
}

}  // namespace deepgap::gpu
