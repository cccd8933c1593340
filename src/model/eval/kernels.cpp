#include "model/eval/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace deepgap {

namespace {

// Inlined into functions of each instruction set, where the compiler turns fma into the machine's own.
[[gnu::always_inline]] inline void row_loop(float weight, const float* x, int64_t stride, int64_t count, float* __restrict y) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) y[i] = __builtin_fmaf(weight, x[i], y[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = __builtin_fmaf(weight, x[i * stride], y[i]);
  }
}

void row_plain(float weight, const float* x, int64_t stride, int64_t count, float* y) { row_loop(weight, x, stride, count, y); }

void tile_plain(const float* a, const float* b, int64_t depth, float* tile) {
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t r = 0; r < 4; ++r)
      for (int64_t c = 0; c < 8; ++c) tile[r * 8 + c] = __builtin_fmaf(a[k * 4 + r], b[k * 8 + c], tile[r * 8 + c]);
}

#if defined(__x86_64__)

[[gnu::target("avx2,fma")]] void row_avx2(float weight, const float* x, int64_t stride, int64_t count, float* y) {
  row_loop(weight, x, stride, count, y);
}

// 6 x 16: twelve accumulators, two vectors of b, one of a.
[[gnu::target("avx2,fma")]] void tile_avx2(const float* a, const float* b, int64_t depth, float* tile) {
  __m256 sum[6][2];
  for (int64_t r = 0; r < 6; ++r)
    for (int64_t c = 0; c < 2; ++c) sum[r][c] = _mm256_loadu_ps(tile + r * 16 + c * 8);
  for (int64_t k = 0; k < depth; ++k) {
    const __m256 b0 = _mm256_loadu_ps(b + k * 16);
    const __m256 b1 = _mm256_loadu_ps(b + k * 16 + 8);
#pragma GCC unroll 6
    for (int64_t r = 0; r < 6; ++r) {
      const __m256 x = _mm256_broadcast_ss(a + k * 6 + r);
      sum[r][0] = _mm256_fmadd_ps(x, b0, sum[r][0]);
      sum[r][1] = _mm256_fmadd_ps(x, b1, sum[r][1]);
    }
  }
  for (int64_t r = 0; r < 6; ++r)
    for (int64_t c = 0; c < 2; ++c) _mm256_storeu_ps(tile + r * 16 + c * 8, sum[r][c]);
}

[[gnu::target("avx512f")]] void row_avx512(float weight, const float* x, int64_t stride, int64_t count, float* y) {
  row_loop(weight, x, stride, count, y);
}

// 12 x 32: twenty-four accumulators.
[[gnu::target("avx512f")]] void tile_avx512(const float* a, const float* b, int64_t depth, float* tile) {
  __m512 sum[12][2];
#pragma GCC unroll 12
  for (int64_t r = 0; r < 12; ++r)
    for (int64_t c = 0; c < 2; ++c) sum[r][c] = _mm512_loadu_ps(tile + r * 32 + c * 16);
  for (int64_t k = 0; k < depth; ++k) {
    const __m512 b0 = _mm512_loadu_ps(b + k * 32);
    const __m512 b1 = _mm512_loadu_ps(b + k * 32 + 16);
#pragma GCC unroll 12
    for (int64_t r = 0; r < 12; ++r) {
      const __m512 x = _mm512_set1_ps(a[k * 12 + r]);
      sum[r][0] = _mm512_fmadd_ps(x, b0, sum[r][0]);
      sum[r][1] = _mm512_fmadd_ps(x, b1, sum[r][1]);
    }
  }
#pragma GCC unroll 12
  for (int64_t r = 0; r < 12; ++r)
    for (int64_t c = 0; c < 2; ++c) _mm512_storeu_ps(tile + r * 32 + c * 16, sum[r][c]);
}

#endif

std::vector<Kernels> find_kernels() {
  std::vector<Kernels> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) found.push_back({"avx512", 12, 32, tile_avx512, row_avx512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back({"avx2", 6, 16, tile_avx2, row_avx2});
#endif
  found.push_back({"plain", 4, 8, tile_plain, row_plain});
  return found;
}

size_t chosen = 0;

}  // namespace

const std::vector<Kernels>& supported_kernels() {
  static const std::vector<Kernels> kernels = find_kernels();
  return kernels;
}

const Kernels& current_kernels() { return supported_kernels()[chosen]; }

void choose_kernels(size_t index) { chosen = index; }

}  // namespace deepgap
