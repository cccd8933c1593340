// Multiply-adds on sixteen-bit floats in vector registers.
#include "ceilings/kernels.h"

#include <immintrin.h>

namespace deepgap {
namespace {

// Pairs of BF16 products added to FP32 sums.
__attribute__((target("avx512f,avx512bf16"))) void run_bf16(int64_t iterations) {
  constexpr int sums = 16;
  __m512 sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
  const auto a = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3c23));  // about 0.01
  const auto b = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3ca4));  // about 0.02
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (auto& each : sum) each = _mm512_dpbf16_ps(each, a, b);
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  float_sink = _mm512_cvtss_f32(sum[0]);
}

__attribute__((target("avx512f,avx512bw,avx512fp16"))) void run_fp16(int64_t iterations) {
  constexpr int sums = 16;
  __m512h sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm512_set1_ph(static_cast<_Float16>(i));
  const __m512h m = _mm512_set1_ph(static_cast<_Float16>(0.5F)), a = _mm512_set1_ph(static_cast<_Float16>(0.25F));
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (auto& each : sum) each = _mm512_fmadd_ph(each, m, a);
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm512_add_ph(sum[0], sum[i]);
  float_sink = static_cast<float>(_mm512_cvtsh_h(sum[0]));
}

bool has_bf16() { return __builtin_cpu_supports("avx512bf16"); }
bool has_fp16() { return __builtin_cpu_supports("avx512fp16"); }

}  // namespace

const ComputeKernel avx512_bf16{"bf16", "AVX-512 BF16", has_bf16, run_bf16, [](int64_t n) { return static_cast<double>(n) * 16 * 32 * 2; }};
const ComputeKernel avx512_fp16{"fp16", "AVX-512 FP16", has_fp16, run_fp16, [](int64_t n) { return static_cast<double>(n) * 16 * 32 * 2; }};

}  // namespace deepgap
