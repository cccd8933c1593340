// The text that turns the sums of wgmma into what is stored (kernels/tile_epilogue.cuh), and the tiles of teams (kernels/tile_rows.cuh).
#pragma once

#include "engine/gpu/convolution.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace deepgap::gpu {

// Returns the text of Table and end_run.
std::string tile_epilogue_text();

// Common to every tile of warpgroups that multiply ("teams") beside one that copies.
struct TeamTile {
  int teams = 1;         // warpgroups that multiply
  int row_blocks = 1;    // blocks of 64 rows that one team has
  int columns = 64;      // output channels of a tile
  int step_bytes = 128;  // bytes of k that one copy brings, a row: 32, 64, 128
  int blocks = 1;        // on one multiprocessor at once
  bool turns = false;    // each team has tiles of its own, and ends one while another team multiplies

  // Returns as few as wanted if the sums take nearly all.
  int producer_registers() const { return row_blocks * columns > 256 ? 24 : 32; }
  int tile_teams() const { return turns ? 1 : teams; }
  int threads() const { return 128 * (teams + 1); }
  int entry_registers() const { return std::min(248, 65536 / (threads() * blocks) / 8 * 8); }
  // Registers of a thread that multiplies: what the producer's warpgroup does not need.
  int team_registers() const { return std::min(240, (entry_registers() * (teams + 1) - producer_registers()) / teams / 8 * 8); }
  int tile_rows() const { return 64 * row_blocks * tile_teams(); }
};

// Returns the numbers above as constants, by their names; tile_teams: teams of one tile; tile_rows.
std::string tile_constants_text(const TeamTile& tile);

// Returns the kernel `entry` itself, after everything: kernels/team_kernel.cuh.
std::string team_kernel_text(std::string_view entry, const TeamTile& tile, bool residual);

// Returns for how many groups of columns a thread holds the residual before it needs it, so as not to wait: as many as registers allow.
int kept_groups_of(const Convolution& problem, const TeamTile& tile);

// Returns how many neighbours of a row one thread stores, so that four threads have equally many of `columns`: 16 bytes if possible.
int run_of(const Convolution& problem, int columns);

// Returns the output channel, within its tile, of column `column` of the products: columns 8j + 2q + {0, 1} of a thread are its run.
int channel_of_column(int column, int run);

}  // namespace deepgap::gpu
