// Divides a problem for the family of mma.cpp.
#pragma once

#include "engine/gpu/convolution.h"

#include <cstdint>
#include <string>

namespace deepgap::gpu {

struct MmaTile {
  int m, n;              // pixels, channels of a block
  int row_bytes;         // bytes of k in a step: 64, 128
  int stages;            // steps in shared memory
  int warps_m, warps_n;  // warps that share the tile
  int warps_k = 1;       // warps that share each step's k
  int split = 1;         // blocks of a cluster that share k

  int threads() const { return 32 * warps_m * warps_n * warps_k; }
  bool staged() const { return warps_k > 1 || split > 1; }
};

// The division of a problem by a tile. Groups are joined into larger ones, whose weights are zeros between the groups, until channels of
// one begin at whole chunks of 16 bytes.
struct MmaSplit {
  int64_t groups, in, out;  // joined groups; channels of one
  int64_t place_chunks;     // chunks of 16 bytes in one place of the kernel
  int64_t steps;
  int64_t tiles_m, tiles_n;
  int vector;  // channels that a thread stores at once
};

// Returns the text of end_tile(...): sums to target.
std::string mma_epilogue_text(const Convolution& problem, const MmaTile& tile);
std::string mma_text(const Convolution& problem, const MmaTile& tile, const MmaSplit& split);

}  // namespace deepgap::gpu
