// The family of kernels for sm_90a: one producer thread feeds a ring of stages through TMA, warpgroups ("teams") multiply from
// it (wgmma) and end the sums in registers, each block going through many tiles. The teams of a block share its tiles or take turns, each
// with tiles of its own (TeamTile).
//
// The order of output channels is permuted within a tile (in the packed weights), so that what one thread holds of a row is a run of
// neighbours, stored 16 bytes at once.
#pragma once

#include "engine/gpu/convolution.h"
#include "engine/gpu/tile_epilogue.h"

#include <string>
#include <vector>

namespace deepgap::gpu {

struct WgmmaTile : TeamTile {
  int stage_steps = 1;  // copies (of each operand) in a stage
  int stages = 4;
  bool resident = false;  // the weights of a block's channels stay in shared memory
};
template <typename T>
struct Estimated {
  double cycles = 0;
  T tile;
};
WgmmaTile tile_of(const ConvolutionVariant& variant);

// The plan for a problem under a tile.
struct WgmmaPlan {
  WgmmaTile tile;
  int run = 16;       // neighbours of a row that one thread stores
  int tap_steps = 1;  // copies for one tap of the kernel
  int steps = 1;      // for a whole sum
  int column_tiles = 1;
  int64_t row_tiles = 1;
  bool plain = true;                                           // the source is a matrix: 1x1 without stride and padding
  size_t stage_bytes = 0, weight_bytes = 0, shared_bytes = 0;  // weight_bytes: of one copy
};
WgmmaPlan plan_of(const Convolution& problem, const WgmmaTile& tile);

ConvolutionVariant variant_of(const Convolution& problem, const WgmmaTile& tile, const Chip& chip);
std::string wgmma_text(const Convolution& problem, const WgmmaPlan& plan);

// Returns the launch of a kernel of team_kernel_text() over `grid` blocks.
Launch team_launch(const Convolution& problem, std::string entry, std::string text, const TeamTile& tile, int64_t grid, size_t shared_bytes,
                   Argument source);
// Returns how many blocks go through all tiles: as many as fit at once, and with resident weights a multiple of `column_tiles`.
int64_t block_count(const Chip& chip, const TeamTile& tile, bool resident, int64_t row_tiles, int64_t column_tiles);

// Returns the tiles that fit problem and chip, in no order.
std::vector<Estimated<WgmmaTile>> wgmma_tiles(const Convolution& problem, const Chip& chip);
// Returns likewise those whose teams take turns; to these the estimate was not fitted.
std::vector<Estimated<WgmmaTile>> overlapping_tiles(const Convolution& problem, const Chip& chip);

}  // namespace deepgap::gpu
