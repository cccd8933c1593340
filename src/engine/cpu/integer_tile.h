// Sums of products of 16-bit integers on AVX2: the inner loop of our own INT8 convolutions and products (integer_dense.h).
//
// AVX2 without VNNI has two ways to multiply bytes. vpmaddubsw takes bytes as they are, but sums two products in 16 bits and saturates
// (saturation.h). vpmaddwd takes 16 bits and sums two products in 32: no product of bytes is ever too large for it, also after a zero
// point was subtracted. It does half the products of an instruction, but needs no second one to widen sums, so that on Zen 3 a core does
// 70 instead of 94 thousand million multiply-accumulates a second, and in FP32 50. The kernel is exact, whatever the weights are.
//
// A tile is 6 rows (pixels) by 16 columns (output channels): twelve of the sixteen registers hold sums, two hold weights, one a pair of
// inputs and one a product. It is written in assembler because g++ 12 keeps some of the sums in memory, which costs a third of the speed.
#pragma once

#include <cstdint>

namespace deepgap {

inline constexpr int64_t integer_tile_rows = 6, integer_tile_columns = 16;

struct IntegerTile {
  const int16_t* rows[integer_tile_rows];  // each with the inputs of one pixel
  const int16_t* weights;                  // [runs][pairs][integer_tile_columns][2], 32-byte aligned
  const int64_t* run_offsets;              // where each run of inputs begins, in bytes after the row's address
  int64_t runs, pairs;                     // both at least 1; pairs: of each run
  const int32_t* start;                    // numbers to which the products are added, [rows][integer_tile_columns]; may be `sums`
  int32_t* sums;
};

extern const int32_t no_sums[integer_tile_rows * integer_tile_columns];  // zeros to start from

bool has_integer_tiles();  // AVX2
// `rows`: 1 to integer_tile_rows.
void multiply_tile(const IntegerTile& tile, int64_t rows);

}  // namespace deepgap
