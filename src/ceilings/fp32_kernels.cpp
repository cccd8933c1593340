// FP32 multiply-adds. The factor is below one and the sums begin apart, so that values stay ordinary numbers for any number of rounds.
#include "ceilings/kernels.h"

#include <immintrin.h>

namespace deepgap {
namespace {

constexpr float factor = 0.9999F, addend = 0.0001F;

// Without FMA: SSE2, which every x86-64 has.
void run_portable(int64_t iterations) {
  constexpr int sums = 10;
  __m128 sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm_set1_ps(static_cast<float>(i));
  const __m128 m = _mm_set1_ps(factor), a = _mm_set1_ps(addend);
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (auto& each : sum) each = _mm_add_ps(_mm_mul_ps(each, m), a);
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm_add_ps(sum[0], sum[i]);
  float_sink = _mm_cvtss_f32(sum[0]);
}

__attribute__((target("avx2,fma"))) void run_avx2(int64_t iterations) {
  constexpr int sums = 12;
  __m256 sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 m = _mm256_set1_ps(factor), a = _mm256_set1_ps(addend);
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (auto& each : sum) each = _mm256_fmadd_ps(each, m, a);
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm256_add_ps(sum[0], sum[i]);
  float_sink = _mm256_cvtss_f32(sum[0]);
}

__attribute__((target("avx512f"))) void run_avx512(int64_t iterations) {
  constexpr int sums = 16;
  __m512 sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 m = _mm512_set1_ps(factor), a = _mm512_set1_ps(addend);
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (auto& each : sum) each = _mm512_fmadd_ps(each, m, a);
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  float_sink = _mm512_cvtss_f32(sum[0]);
}

bool has_sse2() { return true; }
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() { return __builtin_cpu_supports("avx512f"); }

}  // namespace

volatile float float_sink;
volatile int32_t int_sink;

// Sums, lanes, and two operations each.
const ComputeKernel portable_fp32{"fp32", "SSE2", has_sse2, run_portable, [](int64_t n) { return static_cast<double>(n) * 10 * 4 * 2; }};
const ComputeKernel avx2_fp32{"fp32", "AVX2 FMA", has_avx2, run_avx2, [](int64_t n) { return static_cast<double>(n) * 12 * 8 * 2; }};
const ComputeKernel avx512_fp32{"fp32", "AVX-512 FMA", has_avx512, run_avx512,
                                [](int64_t n) { return static_cast<double>(n) * 16 * 16 * 2; }};

}  // namespace deepgap
