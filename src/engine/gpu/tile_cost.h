// Estimates the time of a kernel of tiles for sm_90a: what the tensor cores, the copies to shared memory, the ends of the sums and the
// device's memory have to do. Its constants were fitted to 3723 timings of 177 problems on an H100: the first of its order took 7 % longer
// than the best on average. None of those kernels took turns.
#pragma once

#include "engine/gpu/convolution.h"
#include "engine/gpu/tile_epilogue.h"

namespace deepgap::gpu {

struct TileWork {
  int64_t row_tiles = 0, column_tiles = 0;
  int rows = 64, columns = 64;  // size of a tile
  double k_bytes = 0;           // bytes of k in a row of either operand
  double source_bytes = 0;      // copied to shared memory for one tile
  double flight_bytes = 0;      // most bytes that one block has under way
  bool resident = false;        // the weights are copied once a block
  int blocks = 1;               // on one multiprocessor
  bool turns = false;           // two teams of a block have tiles of their own
};

// Derives the work of such a tile.
TileWork work_of(const TeamTile& tile, int64_t row_tiles, int64_t column_tiles);
// Returns cycles, for comparison alone.
double cycles_of(const Convolution& problem, const TileWork& work, const Chip& chip);

}  // namespace deepgap::gpu
