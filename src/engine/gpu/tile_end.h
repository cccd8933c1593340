// How the sums of wgmma become what is stored, as text: after epilogue_text, shape_text and constants `run`, `columns`, `table_share`.
//
//   struct Table: scales and biases of `columns` channels, as end_value takes them, loaded by 128 threads and stored in shared memory
//   in the order in which threads read them, four at a time: those of thread lane % 4 = q, group g, part p of a run lie at
//   g * 4 * run + p * 16 + q * 4.
#pragma once

#include "engine/gpu/convolution.h"

#include <string>
#include <string_view>

namespace deepgap::gpu {

std::string_view tile_end_text();

// After tile_end_text, constants row_blocks, products, product_sums (of one thread and product), groups_of_columns, kept_groups, and
//   struct Corner { bool inside(int block, int half, int group) const; long long element(int block, int half, int group) const; }
// (whether a thread's run is part of the target, and where): `Kept`, a group's residual, and end_tile.
std::string_view tile_rows_text();

// Groups of columns whose residual a thread holds before it needs it, so that it need not wait: as many as registers are left for.
int kept_groups_of(const Convolution& problem, int columns, int row_blocks);

// Neighbours of a row that one thread stores, so that four threads have equally many of `columns`: 16 bytes where that is possible.
int run_of(const Convolution& problem, int columns);

// The output channel, within its tile, of column `column` of the products: columns 8j + 2q + {0, 1} of a thread are its run.
int channel_of_column(int column, int run);

}  // namespace deepgap::gpu
