// The one matrix product of the evaluator: convolutions, Gemm and MatMul give it their columns. Every element is a chain of fused
// multiply-adds over k in ascending order, starting from zero, so neither blocking, nor threads, nor the instruction set shows in the bits.
#pragma once

#include <cstdint>
#include <functional>

namespace deepgap {

// The left matrix, rows x depth; element (r, k) is data[r * row_stride + k * depth_stride].
struct LeftMatrix {
  const float* data = nullptr;
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t row_stride = 0;
  int64_t depth_stride = 1;
};

// A part of the right matrix to be laid out for the kernel: element (k, column) of the part goes to at(k, column). Columns past `count`
// are zeroed by the caller of the packer.
struct ColumnPanel {
  int64_t depth_begin, depth_end;
  int64_t column;  // position of the first column
  int64_t count;
  int64_t tile_columns;
  float* data;
  // Columns [first, first + tile_columns - first % tile_columns) of one k are contiguous.
  float* at(int64_t k, int64_t first) const {
    return data + (first / tile_columns) * (depth_end - depth_begin) * tile_columns + (k - depth_begin) * tile_columns +
           first % tile_columns;
  }
};
using PackColumns = std::function<void(const ColumnPanel& panel)>;
// Gets `count` finished values of one row, from `column` on.
using StoreRow = std::function<void(int64_t row, int64_t column, int64_t count, const float* values)>;

void multiply(const LeftMatrix& left, int64_t columns, const PackColumns& pack, const StoreRow& store);

}  // namespace deepgap
