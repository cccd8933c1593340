// Device functions that sm_90a alone has, as text: barriers in shared memory, TMA, products of a warpgroup (wgmma).
#pragma once

#include "engine/gpu/convolution.h"

#include <string>
#include <string_view>

namespace deepgap::gpu {

// Goes after kernel_prelude(). With MOST_WAITS defined before it, a wait that is tried more often than that ends the kernel with a trap.
const std::string& hopper_prelude();

// product(Sum (&sums)[columns / 2], u64 rows_of_a, u64 rows_of_b, bool add): 64 rows and `columns` columns over 32 bytes of k, both from
// shared memory. sums[4j + 2h + e] of a thread: row 16 * warp + lane / 4 + 8h, column 8j + lane % 4 * 2 + e.
// product_of_registers(sums, const unsigned (&a)[4], u64 rows_of_b, bool add): a[0], a[1]: bytes lane % 4 * 4 of rows lane / 4 and 8 down;
// a[2], a[3]: the same 16 bytes on.
std::string product_text(const Convolution& problem, int columns);

// product_with_turned(sums, a, u64 rows, bool add): as product_of_registers, of 16 bits and 64 columns; `rows` are the 16 of k, each of 128
// bytes.
std::string turned_product_text(const Convolution& problem, int columns);

// Returns whether wgmma takes a tile of so many columns.
bool takes_columns(ComputeType compute, int columns);
// Returns how many products lie across a tile's columns, each so narrow that its sums fit the registers with which a kernel begins.
int products_of(ComputeType compute, int columns, int registers);

// Returns where TMA and wgmma put byte `offset` of rows of `row_bytes` (32, 64, 128) that begin at a multiple of 8 rows.
size_t permuted(size_t offset, int row_bytes);

}  // namespace deepgap::gpu
