// The innermost loops of the evaluator, written once per instruction set. All give the same bits: each result is one chain of fused
// multiply-adds in ascending order from its own start, and vectors run across results, never along a sum. Chosen once by what the CPU
// has; tests run every one and compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace deepgap {

struct Kernels {
  const char* name;
  int tile_rows;
  int tile_columns;
  // tile[r][c] = fma over k ascending of a[k][r] * b[k][c], starting from tile; a is [depth][tile_rows], b [depth][tile_columns].
  void (*multiply_tile)(const float* a, const float* b, int64_t depth, float* tile);
  // y[i] = fma(weight, x[i * stride], y[i])
  void (*multiply_row)(float weight, const float* x, int64_t stride, int64_t count, float* y);
};

// Lists the kernels that this CPU can run, best first; the last is plain C++.
const std::vector<Kernels>& supported_kernels();
const Kernels& current_kernels();
// For tests: the index into supported_kernels(). Not thread-safe.
void choose_kernels(size_t index);

}  // namespace deepgap
