// Blocking: an item of work is a band of columns (four tiles wide) times a band of rows. It walks the depth in slices; a slice of the
// right matrix is packed once (second-level cache) and meets every packed tile of rows (first-level cache). Sums stay in tiles between
// slices, so the order of additions is that of the plain triple loop.
#include "model/eval/product.h"

#include "base/rounding.h"
#include "model/eval/kernels.h"
#include "model/eval/parallel.h"

#include <algorithm>
#include <memory>
#include <new>

namespace deepgap {

namespace {

constexpr int64_t tiles_per_band = 4;
constexpr int64_t depth_slice = 256;
constexpr int64_t rows_per_band = 384;  // a multiple of every kernel's tile_rows

struct Free {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Floats = std::unique_ptr<float[], Free>;
Floats make_floats(int64_t count) {
  return Floats(static_cast<float*>(::operator new[](static_cast<size_t>(count) * sizeof(float), std::align_val_t{64})));
}

// [tile][k][tile_rows], rows past the end zero.
Floats pack_rows(const LeftMatrix& left, int64_t tile_rows) {
  const int64_t tiles = divide_up(left.rows, tile_rows);
  Floats packed = make_floats(tiles * tile_rows * left.depth);
  parallel_for(tiles, static_cast<double>(left.depth * tile_rows), [&](int64_t tile) {
    float* out = packed.get() + tile * tile_rows * left.depth;
    for (int64_t r = 0; r < tile_rows; ++r) {
      const int64_t row = tile * tile_rows + r;
      const float* from = left.data + row * left.row_stride;
      for (int64_t k = 0; k < left.depth; ++k) out[k * tile_rows + r] = row < left.rows ? from[k * left.depth_stride] : 0.0f;
    }
  });
  return packed;
}

struct Product {
  const LeftMatrix& left;
  int64_t columns;
  const PackColumns& pack;
  const StoreRow& store;
  const Kernels& kernels;
  const float* rows;  // packed
  int64_t rows_in_band;

  int64_t band_columns() const { return tiles_per_band * kernels.tile_columns; }
  int64_t row_bands() const { return divide_up(left.rows, rows_in_band); }
  int64_t column_bands() const { return divide_up(columns, band_columns()); }
  void run_item(int64_t item) const;
  void pack_slice(ColumnPanel& panel, int64_t tiles) const;
  void store_tile(int64_t row, int64_t column, const float* tile) const;
};

void Product::pack_slice(ColumnPanel& panel, int64_t tiles) const {
  if (panel.count % kernels.tile_columns != 0) {  // the last tile has columns that are none
    const int64_t depth = panel.depth_end - panel.depth_begin;
    std::fill_n(panel.data + (tiles - 1) * depth * kernels.tile_columns, depth * kernels.tile_columns, 0.0f);
  }
  pack(panel);
}

void Product::store_tile(int64_t row, int64_t column, const float* tile) const {
  const int64_t count = std::min<int64_t>(kernels.tile_columns, columns - column);
  for (int64_t r = 0; r < kernels.tile_rows && row + r < left.rows; ++r) store(row + r, column, count, tile + r * kernels.tile_columns);
}

void Product::run_item(int64_t item) const {
  const int64_t column = item / row_bands() * band_columns();
  const int64_t first_row = item % row_bands() * rows_in_band;
  const int64_t count = std::min(band_columns(), columns - column);
  const int64_t tiles = divide_up(count, kernels.tile_columns);
  const int64_t row_tiles = divide_up(std::min(rows_in_band, left.rows - first_row), kernels.tile_rows);
  const int64_t tile_size = int64_t{kernels.tile_rows} * kernels.tile_columns;
  const Floats panel_data = make_floats(tiles * depth_slice * kernels.tile_columns);
  const Floats sums = make_floats(row_tiles * tiles * tile_size);
  std::fill_n(sums.get(), row_tiles * tiles * tile_size, 0.0f);
  for (int64_t begin = 0; begin < left.depth; begin += depth_slice) {
    const int64_t end = std::min(begin + depth_slice, left.depth);
    ColumnPanel panel{begin, end, column, count, kernels.tile_columns, panel_data.get()};
    pack_slice(panel, tiles);
    for (int64_t r = 0; r < row_tiles; ++r) {
      const float* a = rows + (first_row + r * kernels.tile_rows) * left.depth + begin * kernels.tile_rows;
      for (int64_t t = 0; t < tiles; ++t)
        kernels.multiply_tile(a, panel.at(begin, t * kernels.tile_columns), end - begin, sums.get() + (r * tiles + t) * tile_size);
    }
  }
  for (int64_t r = 0; r < row_tiles; ++r)
    for (int64_t t = 0; t < tiles; ++t)
      store_tile(first_row + r * kernels.tile_rows, column + t * kernels.tile_columns, sums.get() + (r * tiles + t) * tile_size);
}

}  // namespace

void multiply(const LeftMatrix& left, int64_t columns, const PackColumns& pack, const StoreRow& store) {
  if (left.rows == 0 || columns == 0) return;
  const Kernels& kernels = current_kernels();
  const Floats rows = pack_rows(left, kernels.tile_rows);
  Product product{left, columns, pack, store, kernels, rows.get(), rows_per_band};
  // Few columns (a classifier, a late layer): smaller bands of rows keep all threads busy.
  while (product.row_bands() * product.column_bands() < 16 && product.rows_in_band > 48) product.rows_in_band /= 2;
  const int64_t items = product.row_bands() * product.column_bands();
  parallel_for(items, static_cast<double>(product.rows_in_band * left.depth * product.band_columns()) / 16,
               [&](int64_t item) { product.run_item(item); });
}

}  // namespace deepgap
