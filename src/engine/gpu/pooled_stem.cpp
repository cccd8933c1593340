// A network's first convolution with the max-pool behind it (Convolution::pool) as one kernel: kernels/pooled_stem.cuh says how.
#include "base/rounding.h"
#include "engine/gpu/stem.h"

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

int shift_of(const Convolution& problem) { return static_cast<int>(problem.pad_left % 2); }

// Returns how many rows of the kernel a thread holds the pixels of at once: as many as the registers have room for beside the sums, and no
// more than that many equal batches need.
int64_t row_batch_of(const Convolution& problem, const StemPlan& plan) {
  constexpr int besides = 40;
  const int registers = std::min(248, 65536 / (plan.teams * plan.blocks * 128) / 8 * 8);
  const int left = registers - plan.columns / 2 * 5 - besides, of_row = 2 * 4 * plan.run_steps;
  const auto kernel = static_cast<int>(problem.kernel_h);
  const int most = std::clamp(left / of_row, 1, kernel);
  return divide_up(kernel, divide_up(kernel, most));
}

StemPlan plan_of(const Convolution& problem, const PooledStemTile& tile) {
  const int64_t source_rows = 2 * tile.rows * tile.teams * problem.stride_h + (problem.kernel_h - 1) * problem.dilation_h + 1;
  return stem_plan(problem, tile.rows, tile.teams, tile.blocks, run_pixels, shift_of(problem), source_rows, 1);
}

std::string text_of(const Convolution& problem, const StemPlan& plan) {
  const MaxPool& pool = *problem.pool;
  const int64_t row_batch = row_batch_of(problem, plan);
  return stem_text(
      problem, plan,
      fmt::format("table_share = 1, shift = {}, row_batch = {}, row_batches = {}, pool_h = {}, pool_w = {}, pool_top = {}, "
                  "pool_left = {}",
                  plan.shift, row_batch, divide_up(problem.kernel_h, row_batch), pool.out_h, pool.out_w, pool.pad_top, pool.pad_left),
      "pooled_stem");
}

// A thread's two words of a step are neighbours in the run, and so are its steps.
std::vector<std::byte> pack(const Convolution& problem, const ConvolutionVariant& variant, const Tensor& weights) {
  const StemPlan plan = plan_of(problem, {variant.tile[0], variant.tile[1], variant.tile[2]});
  return pack_stem(problem, plan, weights, [&](int step, int byte) {
    return byte % 16 / 4 * (8 * plan.run_steps) + step % plan.run_steps * 8 + byte / 16 * 4 + byte % 4;
  });
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

ConvolutionVariant variant_of(const Convolution& problem, const PooledStemTile& tile, const StemPlan& plan, const Chip& chip) {
  ConvolutionVariant variant = stem_variant(problem, plan, chip, tiles_of(problem, tile), "pooled_stem", text_of(problem, plan));
  variant.name = fmt::format("pooled stem {}x{} t{} b{}", tile.rows, plan.columns, tile.teams, tile.blocks);
  variant.pack = pack;
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
    const StemPlan plan = plan_of(problem, tile);
    const size_t room = std::min(chip.shared_bytes, (chip.shared_bytes + of_system) / static_cast<size_t>(tile.blocks) - of_system);
    if (plan.shared_bytes <= room && tile.rows <= std::max<int64_t>(1, problem.pool->out_h))
      variants.push_back(variant_of(problem, tile, plan, chip));
  }
  return variants;
}

}  // namespace deepgap::gpu
