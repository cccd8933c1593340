#include "engine/gpu/tile_epilogue.h"

#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

namespace deepgap::gpu {

std::string tile_epilogue_text() { return kernel_file("tile_epilogue"); }

std::string tile_constants_text(const TeamTile& tile) {
  return fmt::format(
      "static const int teams = {}, tile_teams = {}, row_blocks = {}, columns = {}, step_bytes = {}, tile_rows = {}, "
      "table_share = {}, producer_registers = {}, team_registers = {};\nstatic const bool turns = {};\n",
      tile.teams, tile.tile_teams(), tile.row_blocks, tile.columns, tile.step_bytes, tile.tile_rows(), (tile.columns + 127) / 128,
      tile.producer_registers(), tile.team_registers(), tile.turns);
}

std::string team_kernel_text(std::string_view entry, const TeamTile& tile, bool residual) {
  return kernel_macros(
             fmt::format("__launch_bounds__({}, {}) {}", tile.threads(), tile.blocks, entry),
             "const __grid_constant__ Map source, const unsigned char* __restrict__ weights, const float* __restrict__ scale_bias, "
             "unsigned char* target",
             residual) +
         kernel_file("team_kernel");
}

int kept_groups_of(const Convolution& problem, const TeamTile& tile) {
  const int run = run_of(problem, tile.columns), groups = tile.columns / (4 * run), most_words = tile.turns ? 16 : 32;
  const int words = tile.row_blocks * 2 * run * static_cast<int>(byte_size(problem.epilogue.residual)) / 4;
  int kept = groups;
  while (kept > 1 && kept * words > most_words) kept /= 2;
  return groups % kept == 0 ? kept : 1;
}

int run_of(const Convolution& problem, int columns) {
  int run = 16 / static_cast<int>(byte_size(problem.epilogue.target));
  while (columns % (4 * run) != 0) run /= 2;
  return run;
}

int channel_of_column(int column, int run) {
  const int group = column / (4 * run), of_group = column % (4 * run);
  return group * 4 * run + of_group % 8 / 2 * run + of_group / 8 * 2 + of_group % 2;
}

}  // namespace deepgap::gpu
