// Finds the tiles that fit problem and chip.
#include "base/rounding.h"
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/tile_cost.h"
#include "engine/gpu/wgmma.h"

#include <algorithm>
#include <array>

namespace deepgap::gpu {
namespace {

// Chooses as few bytes of k as possible beyond what there is, in as wide steps as possible.
int step_bytes_of(const Convolution& problem) {
  const int64_t bytes = problem.in_pitch * static_cast<int64_t>(byte_size(problem.source));
  int best = 128;
  for (const int step : {128, 64, 32}) {
    const auto padded = [bytes](int s) { return round_up(bytes, s); };
    if (padded(step) * 8 < padded(best) * 7) best = step;
  }
  return best;
}

int stage_steps_of(int step_bytes, int steps) {
  int best = 1;
  for (int n = 2; n * step_bytes <= 192 && n <= steps; n++)
    if (steps % n == 0) best = n;
  return best;
}

int blocks_by_registers(const Convolution& problem, WgmmaTile tile) {
  const int sums = tile.row_blocks * tile.columns / 2;
  const int wanted = sums + (problem.epilogue.has_residual() ? 20 + 12 * tile.row_blocks : 0) + 32 + 20 * tile.row_blocks;
  for (tile.blocks = 4; tile.blocks > 0; tile.blocks--)
    if (tile.team_registers() >= wanted) break;
  return tile.blocks;
}

// Stages that `blocks` blocks on one multiprocessor have room for; 0: they have none.
int stages_with(const Convolution& problem, WgmmaTile tile, int blocks, const Chip& chip) {
  constexpr size_t of_system = 1 << 10, most = 8;
  tile.stages = 0;
  const WgmmaPlan empty = plan_of(problem, tile);
  const size_t room = std::min(chip.shared_bytes, (chip.shared_bytes + of_system) / static_cast<size_t>(blocks) - of_system);
  if (room < empty.shared_bytes) return 0;
  const size_t fit = (room - empty.shared_bytes) / (empty.stage_bytes + 16);
  const size_t stages = std::min(fit, most);
  return stages < 2 ? 0 : static_cast<int>(stages);
}

double estimate(const Convolution& problem, const WgmmaTile& tile, const Chip& chip) {
  const WgmmaPlan plan = plan_of(problem, tile);
  TileWork work = work_of(tile, plan.row_tiles, plan.column_tiles);
  work.k_bytes = static_cast<double>(plan.steps) * tile.step_bytes;
  work.source_bytes = work.k_bytes * work.rows;
  work.flight_bytes = static_cast<double>(plan.stage_bytes) * (tile.stages - 1);
  work.resident = tile.resident;
  work.turns = tile.turns;
  return cycles_of(problem, work, chip);
}

// Columns of which not too many are beyond the output's channels.
std::vector<int> columns_of(const Convolution& problem) {
  std::vector<int> fitting;
  int64_t least = INT64_MAX;
  const auto padded = [&](int columns) { return round_up(problem.out_pitch, columns); };
  constexpr std::array<int, 9> all{256, 192, 160, 128, 96, 64, 48, 32, 16};
  for (const int columns : all) least = std::min(least, padded(columns));
  for (const int columns : all)
    if (padded(columns) * 4 <= least * 5 && takes_columns(problem.compute, columns)) fitting.push_back(columns);
  return fitting;
}

// Returns whether two teams that take turns, in a block that has its multiprocessor alone, have the registers.
bool fits_registers(const Convolution& problem, const WgmmaTile& tile) {
  const int sums = tile.row_blocks * tile.columns / 2, scales = operand_bytes(problem.compute) == 1 ? 16 : 0;
  const int ending = problem.epilogue.has_residual() ? (tile.resident ? 56 : 48) : 40;
  return sums + ending + scales <= tile.team_registers();
}

void add_with_blocks(const Convolution& problem, const Chip& chip, WgmmaTile tile, std::vector<Estimated<WgmmaTile>>& tiles) {
  const int most = blocks_by_registers(problem, tile);
  for (int blocks = most; blocks >= std::max(1, most - 1); blocks--) {
    tile.blocks = blocks;
    tile.stages = stages_with(problem, tile, blocks, chip);
    if (tile.stages > 0) tiles.push_back({estimate(problem, tile, chip), tile});
  }
}

}  // namespace

std::vector<Estimated<WgmmaTile>> wgmma_tiles(const Convolution& problem, const Chip& chip) {
  constexpr std::array<std::array<int, 2>, 5> team_shapes{{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}}};
  std::vector<Estimated<WgmmaTile>> tiles;
  for (const int columns : columns_of(problem))
    for (const auto& [teams, row_blocks] : team_shapes) {
      if (row_blocks * columns > 256) continue;
      WgmmaTile tile;
      tile.teams = teams;
      tile.row_blocks = row_blocks;
      tile.columns = columns;
      tile.step_bytes = step_bytes_of(problem);
      tile.stage_steps = stage_steps_of(tile.step_bytes, plan_of(problem, tile).steps);
      for (const bool resident : {false, true}) {
        tile.resident = resident;
        add_with_blocks(problem, chip, tile, tiles);
      }
    }
  return tiles;
}

// Blocks of a cluster that read weights together by TMA multicast are not among them: on an H100 they took 1.01 to 1.02 times as long as
// the others for the GEMMs of BERT and ViT, because power limits both (lab-notes/gpu-chains.md).
std::vector<Estimated<WgmmaTile>> overlapping_tiles(const Convolution& problem, const Chip& chip) {
  std::vector<Estimated<WgmmaTile>> tiles;
  for (const int columns : columns_of(problem))
    for (const int row_blocks : {1, 2})
      for (const bool resident : {false, true}) {
        WgmmaTile tile;
        tile.teams = 2;
        tile.turns = true;
        tile.row_blocks = row_blocks;
        tile.columns = columns;
        tile.resident = resident;
        if (!fits_registers(problem, tile)) continue;
        tile.step_bytes = step_bytes_of(problem);
        const WgmmaPlan plan = plan_of(problem, tile);
        tile.stage_steps = stage_steps_of(tile.step_bytes, plan.steps);
        tile.stages = stages_with(problem, tile, 1, chip);
        // With one tile a block nothing takes turns.
        if (tile.stages > 0 && plan.row_tiles * plan.column_tiles > chip.multiprocessors)
          tiles.push_back({estimate(problem, tile, chip), tile});
      }
  return tiles;
}

}  // namespace deepgap::gpu
