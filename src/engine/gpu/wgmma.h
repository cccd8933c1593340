// The family of kernels for sm_90a: one producer thread feeds a ring of stages through the copy engine, warpgroups ("teams") multiply from
// it (wgmma) and end the sums in registers, each block going through many tiles.
//
// The order of output channels is permuted within a tile (in the packed weights), so that what one thread holds of a row is a run of
// neighbours, stored 16 bytes at once.
#pragma once

#include "engine/gpu/convolution.h"

#include <algorithm>

namespace deepgap::gpu {

struct WgmmaTile {
  int teams = 1;         // warpgroups that multiply
  int row_blocks = 1;    // of 64 rows, of one team
  int columns = 64;      // output channels of a tile
  int step_bytes = 128;  // bytes of k that one copy brings, a row: 32, 64, 128
  int stage_steps = 1;   // copies (of each operand) in a stage
  int stages = 4;
  int blocks = 1;         // on one multiprocessor at once
  bool resident = false;  // the weights of a block's channels stay in shared memory

  static constexpr int producer_registers = 32;
  int threads() const { return 128 * (teams + 1); }
  // Of a thread that multiplies: what the producer's warpgroup does not need.
  int team_registers() const { return std::min(240, (entry_registers() * (teams + 1) - producer_registers) / teams / 8 * 8); }
  int entry_registers() const { return std::min(248, 65536 / (threads() * blocks) / 8 * 8); }
  int tile_rows() const { return 64 * row_blocks * teams; }
};
template <typename T>
struct Estimated {
  double cycles = 0;
  T tile;
};
WgmmaTile tile_of(const ConvolutionVariant& variant);

// What a problem becomes under a tile.
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

// Tiles that fit problem and chip, in no order.
std::vector<Estimated<WgmmaTile>> wgmma_tiles(const Convolution& problem, const Chip& chip);

}  // namespace deepgap::gpu
