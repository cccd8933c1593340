// Which tiles are worth measuring: an estimate of the time by what each resource has to do.
#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/wgmma.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace deepgap::gpu {
namespace {

struct Shape {
  int teams, row_blocks, columns;
};

// As few bytes of k as possible beyond what there is, in as wide steps as possible.
int step_bytes_of(const Convolution& problem) {
  const int64_t bytes = problem.in_pitch * static_cast<int64_t>(byte_size(problem.source));
  int best = 128;
  for (const int step : {128, 64, 32}) {
    const auto padded = [bytes](int s) { return (bytes + s - 1) / s * s; };
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
  const int wanted = sums + (problem.epilogue.has_residual() ? 32 : 0) + 48;
  for (tile.blocks = 4; tile.blocks > 0; tile.blocks--)
    if (tile.team_registers() >= wanted) break;
  return tile.blocks;
}

// Stages that `blocks` blocks on one multiprocessor have room for; 0: they have none.
int stages_with(const Convolution& problem, WgmmaTile tile, int blocks, const Chip& chip) {
  constexpr size_t most_in_flight = 96 << 10, of_system = 1 << 10;
  tile.stages = 0;
  const WgmmaPlan empty = plan_of(problem, tile);
  const size_t room = std::min(chip.shared_bytes, (chip.shared_bytes + of_system) / static_cast<size_t>(blocks) - of_system);
  if (room < empty.shared_bytes) return 0;
  const size_t fit = (room - empty.shared_bytes) / (empty.stage_bytes + 16);
  const size_t wanted = std::max<size_t>(3, most_in_flight / static_cast<size_t>(blocks) / empty.stage_bytes);
  const size_t stages = std::min<size_t>({fit, wanted, 8});
  return stages < 2 ? 0 : static_cast<int>(stages);
}

// Cycles, roughly.
double estimate(const Convolution& problem, const WgmmaTile& tile, const Chip& chip) {
  const WgmmaPlan plan = plan_of(problem, tile);
  const double chips = chip.multiprocessors, rows = tile.tile_rows(), columns = tile.columns;
  const double k_bytes = static_cast<double>(plan.steps) * tile.step_bytes;
  const bool resident = tile.form == WgmmaTile::resident;
  const double product = k_bytes / 32 * rows / 64 * std::max(columns / 2, 16 + columns / 4);
  const double weights = resident ? 0 : k_bytes * columns / (tile.form == WgmmaTile::paired ? 2 : 1);
  const double copies = (k_bytes * rows + weights) / 28;
  const double ending = rows * columns * (problem.epilogue.has_residual() ? 10 : 7) / 128;
  const double at_once = tile.form == WgmmaTile::in_turn ? tile.teams : tile.blocks;
  const double tiles = std::ceil(static_cast<double>(plan.row_tiles * plan.column_tiles) / chips / at_once) * at_once;
  const double one = std::max({product, copies, ending}) + std::min(product, ending) / at_once + 400 / at_once;
  const double pixels = static_cast<double>(problem.batch * problem.out_h * problem.out_w);
  const double written = static_cast<double>(problem.out_pitch) * pixels *
                         static_cast<double>(byte_size(problem.epilogue.target) +
                                             (problem.epilogue.has_residual() ? byte_size(problem.epilogue.residual) : 0));
  const double read =
      static_cast<double>(problem.batch * problem.in_h * problem.in_w * problem.in_pitch) * static_cast<double>(byte_size(problem.source));
  return std::max(tiles * one, (written + read) / chips / 15) + 0.2 * tiles * one;
}

// Columns of which not too many are beyond the output's channels.
std::vector<int> columns_of(const Convolution& problem) {
  std::vector<int> fitting;
  int64_t least = INT64_MAX;
  const auto padded = [&](int columns) { return (problem.out_pitch + columns - 1) / columns * columns; };
  constexpr std::array<int, 9> all{256, 192, 160, 128, 96, 64, 48, 32, 16};
  for (const int columns : all) least = std::min(least, padded(columns));
  for (const int columns : all)
    if (padded(columns) * 4 <= least * 5 && takes_columns(problem.compute, columns)) fitting.push_back(columns);
  return fitting;
}

void add_form(const Convolution& problem, const Chip& chip, WgmmaTile tile, std::vector<WgmmaTile>& tiles) {
  const int most = blocks_by_registers(problem, tile);
  for (int blocks = most; blocks >= std::max(1, most - 1); blocks--) {
    tile.blocks = blocks;
    tile.stages = stages_with(problem, tile, blocks, chip);
    if (tile.stages > 0) tiles.push_back(tile);
  }
}

}  // namespace

std::vector<WgmmaTile> wgmma_tiles(const Convolution& problem, const Chip& chip) {
  constexpr std::array<std::array<int, 2>, 5> team_shapes{{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}}};
  std::vector<WgmmaTile> tiles;
  for (const int columns : columns_of(problem))
    for (const auto& [teams, row_blocks] : team_shapes) {
      if (row_blocks * columns > 256) continue;
      WgmmaTile tile;
      tile.teams = teams;
      tile.row_blocks = row_blocks;
      tile.columns = columns;
      tile.step_bytes = step_bytes_of(problem);
      tile.stage_steps = stage_steps_of(tile.step_bytes, plan_of(problem, tile).steps);
      for (const auto form : {WgmmaTile::together, WgmmaTile::in_turn, WgmmaTile::resident, WgmmaTile::paired}) {
        if (form == WgmmaTile::in_turn && teams != 2) continue;
        if (form == WgmmaTile::paired && (tile.tile_rows() < 128 || columns < 128)) continue;
        tile.form = form;
        if (tile.tile_rows() <= 256) add_form(problem, chip, tile, tiles);
      }
    }
  std::stable_sort(tiles.begin(), tiles.end(),
                   [&](const WgmmaTile& a, const WgmmaTile& b) { return estimate(problem, a, chip) < estimate(problem, b, chip); });
  return tiles;
}

}  // namespace deepgap::gpu
