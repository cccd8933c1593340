// A network's first convolution with the max-pool behind it (Convolution::pool) as one kernel: kernels/pooled_stem.cuh says how.
#include "base/rounding.h"
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/stem.h"
#include "engine/gpu/tile_epilogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace deepgap::gpu {
namespace {

constexpr int64_t run_pixels = 8;  // pixels of a kernel row, as products read it
constexpr int most_columns = 64;   // five sets of sums fit the registers

struct PooledStemTile {
  int rows = 4;  // rows of the pool's result per warpgroup
  int teams = 1, blocks = 2;
};

struct PooledStemPlan {
  PooledStemTile tile;
  int columns = 64;
  int pixel_bytes = 4, run_steps = 1, steps = 7;  // run_steps: of 32 bytes, for one row of the kernel
  int row_batch = 7;                              // rows of the kernel whose pixels a thread holds at once
  int shift = 0;                                  // pixels before the kernel's first one with which a run begins, so that it is aligned
  int piece = 1;                                  // pixels that one copy brings
  int origin = 0;                                 // pixels of the padding that lie before the image
  int row_bytes = 0, source_rows = 0;
  size_t source_bytes = 0, weight_bytes = 0, shared_bytes = 0;

  int registers() const { return std::min(248, 65536 / (tile.teams * tile.blocks * 128) / 8 * 8); }
};

int shift_of(const Convolution& problem) { return static_cast<int>(problem.pad_left % 2); }

// Returns as many as the registers hold beside the sums, and no more than that many equal batches need.
int row_batch_of(const Convolution& problem, const PooledStemPlan& plan) {
  constexpr int besides = 40;
  const int left = plan.registers() - plan.columns / 2 * 5 - besides, of_row = 2 * 4 * plan.run_steps;
  const auto kernel = static_cast<int>(problem.kernel_h);
  const int most = std::clamp(left / of_row, 1, kernel);
  return static_cast<int>(divide_up(kernel, divide_up(kernel, most)));
}

PooledStemPlan plan_of(const Convolution& problem, const PooledStemTile& tile) {
  PooledStemPlan plan;
  plan.tile = tile;
  plan.columns = stem_columns(problem);
  plan.pixel_bytes = static_cast<int>(stem_channels * static_cast<int64_t>(byte_size(problem.source)));
  plan.run_steps = static_cast<int>(run_pixels * plan.pixel_bytes / 32);
  plan.steps = plan.run_steps * static_cast<int>(problem.kernel_h);
  plan.row_batch = row_batch_of(problem, plan);
  plan.shift = shift_of(problem);
  plan.piece = copied_pixels(problem);
  plan.origin = static_cast<int>(divide_up(problem.pad_left + plan.shift, plan.piece)) * plan.piece;
  const int64_t last = (problem.out_w - 1) * problem.stride_w + plan.origin - problem.pad_left - plan.shift;
  plan.row_bytes = static_cast<int>(divide_up((last + run_pixels) * plan.pixel_bytes, 16) * 16);
  plan.source_rows = static_cast<int>(2 * tile.rows * tile.teams * problem.stride_h + (problem.kernel_h - 1) * problem.dilation_h + 1);
  plan.source_bytes = static_cast<size_t>(plan.row_bytes) * static_cast<size_t>(plan.source_rows);
  plan.weight_bytes = static_cast<size_t>(plan.steps) * static_cast<size_t>(plan.columns) * 32;
  plan.shared_bytes = 1024 + plan.weight_bytes + 2 * plan.source_bytes + static_cast<size_t>(plan.columns * 8) + 16;
  return plan;
}

std::string text_of(const Convolution& problem, const PooledStemPlan& plan) {
  const MaxPool& pool = *problem.pool;
  std::string text(kernel_prelude());
  text += hopper_prelude();
  text += epilogue_text(problem) + shape_text(problem);
  text += fmt::format(
      "static const int rows = {}, teams = {}, blocks = {}, columns = {}, pixel_bytes = {}, run_steps = {}, steps = {}, row_batch = {}, "
      "row_batches = {}, shift = {}, piece = {}, origin = {}, row_bytes = {}, source_rows = {}, source_bytes = {}, weight_bytes = {}, "
      "run = {}, table_share = 1;\n",
      plan.tile.rows, plan.tile.teams, plan.tile.blocks, plan.columns, plan.pixel_bytes, plan.run_steps, plan.steps, plan.row_batch,
      divide_up(problem.kernel_h, plan.row_batch), plan.shift, plan.piece, plan.origin, plan.row_bytes, plan.source_rows, plan.source_bytes,
      plan.weight_bytes, run_of(problem, plan.columns));
  text += fmt::format("static const int pool_h = {}, pool_w = {}, pool_top = {}, pool_left = {};\n", pool.out_h, pool.out_w, pool.pad_top,
                      pool.pad_left);
  return text + product_text(problem, plan.columns) + tile_epilogue_text() + kernel_file("stem_source") + kernel_file("pooled_stem");
}

// Packs by step of 32 bytes (row of the kernel, part of its run), column, byte. A thread's two words of a step are neighbours in the run,
// and so are its steps.
std::vector<std::byte> pack(const Convolution& problem, const ConvolutionVariant& variant, const Tensor& weights) {
  const WeightReader reader(problem, weights);
  const PooledStemPlan plan = plan_of(problem, {variant.tile[0], variant.tile[1], variant.tile[2]});
  const int run = run_of(problem, plan.columns);
  const auto size = static_cast<int>(operand_bytes(problem.compute));
  std::vector<std::byte> packed(variant.packed_bytes);
  for (int step = 0; step < plan.steps; step++)
    for (int column = 0; column < plan.columns; column++)
      for (int byte = 0; byte < 32; byte += size) {
        const int at = byte % 16 / 4 * (8 * plan.run_steps) + step % plan.run_steps * 8 + byte / 16 * 4 + byte % 4;
        const int64_t out = channel_of_column(column, run), x = at / plan.pixel_bytes - plan.shift, in = at % plan.pixel_bytes / size;
        if (out >= problem.out_channels || x < 0 || x >= problem.kernel_w || in >= problem.in_channels) continue;
        const size_t offset =
            static_cast<size_t>(step * plan.columns) * 32 + permuted(static_cast<size_t>(column) * 32 + static_cast<size_t>(byte), 32);
        put_operand(packed, offset / static_cast<size_t>(size), problem.compute, reader.at(out, in, step / plan.run_steps, x));
      }
  return packed;
}

// Columns of the convolution two apart begin at even pixels.
bool is_pooled_stem(const Convolution& problem, const Chip& chip) {
  const bool bytes = problem.compute == ComputeType::i8,
             halves = problem.compute == ComputeType::f16 || problem.compute == ComputeType::bf16;
  return problem.pool && (bytes || halves) && is_stem(problem, chip) && stem_columns(problem) <= most_columns &&
         problem.stride_w % 2 == 0 && problem.kernel_w + shift_of(problem) <= run_pixels && keeps_order(problem.epilogue);
}

int64_t tiles_of(const Convolution& problem, const PooledStemTile& tile) {
  return problem.batch * divide_up(problem.pool->out_h, int64_t{tile.rows} * tile.teams);
}

// Rows of the convolution that the busiest multiprocessor computes: those of all its tiles, each with one that the tile above has, too.
int64_t rows_in_turn(const Convolution& problem, const PooledStemTile& tile, const Chip& chip) {
  const int64_t rounds = divide_up(tiles_of(problem, tile), static_cast<int64_t>(chip.multiprocessors) * tile.blocks);
  return rounds * tile.blocks * tile.teams * (2 * tile.rows + 1);
}

ConvolutionVariant variant_of(const Convolution& problem, const PooledStemPlan& plan, const Chip& chip) {
  const PooledStemTile& tile = plan.tile;
  ConvolutionVariant variant;
  variant.name = fmt::format("pooled stem {}x{} t{} b{}", tile.rows, plan.columns, tile.teams, tile.blocks);
  variant.tile = {tile.rows, tile.teams, tile.blocks};
  variant.pack = pack;
  variant.packed_bytes = plan.weight_bytes;
  Launch launch;
  launch.entry = "pooled_stem";
  launch.source = text_of(problem, plan);
  launch.grid = {
      static_cast<unsigned>(std::min<int64_t>(tiles_of(problem, tile), static_cast<int64_t>(chip.multiprocessors) * tile.blocks)), 1, 1};
  launch.block = {static_cast<unsigned>(tile.teams * 128), 1, 1};
  launch.shared_bytes = plan.shared_bytes;
  launch.overlaps_previous = true;
  launch.arguments = arguments_of(problem);
  variant.launches.push_back(std::move(launch));
  return variant;
}

}  // namespace

bool keeps_order(const Epilogue& epilogue) {
  return epilogue.target_inverse >= 0 && std::all_of(epilogue.steps.begin(), epilogue.steps.end(), [](const EpilogueStep& step) {
           return step.kind == EpilogueStep::Kind::clamp || (step.kind == EpilogueStep::Kind::round && step.scale > 0);
         });
}

std::vector<ConvolutionVariant> pooled_stem_variants(const Convolution& problem, const Chip& chip) {
  if (!is_pooled_stem(problem, chip)) return {};
  constexpr size_t of_system = 1 << 10;
  std::vector<ConvolutionVariant> variants;
  std::array<PooledStemTile, 9> tiles{{{8, 1, 2}, {7, 1, 2}, {4, 1, 2}, {7, 2, 1}, {4, 2, 1}, {3, 1, 2}, {2, 1, 2}, {1, 1, 2}, {1, 1, 1}}};
  std::sort(tiles.begin(), tiles.end(), [&](const PooledStemTile& a, const PooledStemTile& b) {
    return rows_in_turn(problem, a, chip) < rows_in_turn(problem, b, chip);
  });
  for (const PooledStemTile& tile : tiles) {
    const PooledStemPlan plan = plan_of(problem, tile);
    const size_t room = std::min(chip.shared_bytes, (chip.shared_bytes + of_system) / static_cast<size_t>(tile.blocks) - of_system);
    if (plan.shared_bytes <= room && tile.rows <= std::max<int64_t>(1, problem.pool->out_h))
      variants.push_back(variant_of(problem, plan, chip));
  }
  return variants;
}

}  // namespace deepgap::gpu
