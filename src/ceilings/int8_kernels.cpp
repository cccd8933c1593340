// Multiply-adds of unsigned with signed bytes, as quantized layers do them. Sums wrap; nobody reads them.
#include "ceilings/kernels.h"

#include <immintrin.h>

namespace deepgap {
namespace {

constexpr int sums = 12;

// Products in pairs to 16 bits, these in pairs to 32, then the sum: three instructions where VNNI has one.
__attribute__((target("avx2"))) void run_avx2(int64_t iterations) {
  __m256i sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm256_set1_epi32(i);
  __m256i a = _mm256_set1_epi8(3);
  const __m256i b = _mm256_set1_epi8(-5), one = _mm256_set1_epi16(1);
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (auto& each : sum) {
      asm volatile("" : "+x"(a));  // else the same products would be made once
      each = _mm256_add_epi32(each, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), one));
    }
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm256_add_epi32(sum[0], sum[i]);
  int_sink = _mm256_cvtsi256_si32(sum[0]);
}

__attribute__((target("avx2,avxvnni"))) void run_avxvnni(int64_t iterations) {
  __m256i sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm256_set1_epi32(i);
  const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-5);
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (auto& each : sum) each = _mm256_dpbusd_avx_epi32(each, a, b);
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm256_add_epi32(sum[0], sum[i]);
  int_sink = _mm256_cvtsi256_si32(sum[0]);
}

__attribute__((target("avx512f,avx512vnni"))) void run_avx512vnni(int64_t iterations) {
  __m512i sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm512_set1_epi32(i);
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-5);
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (auto& each : sum) each = _mm512_dpbusd_epi32(each, a, b);
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm512_add_epi32(sum[0], sum[i]);
  int_sink = _mm512_cvtsi512_si32(sum[0]);
}

bool has_avx2() { return __builtin_cpu_supports("avx2"); }
bool has_avxvnni() { return __builtin_cpu_supports("avxvnni"); }
bool has_avx512vnni() { return __builtin_cpu_supports("avx512vnni"); }

}  // namespace

const ComputeKernel avx2_int8{"int8", "AVX2", has_avx2, run_avx2, [](int64_t n) { return static_cast<double>(n) * sums * 32 * 2; }};
const ComputeKernel avxvnni_int8{"int8", "AVX-VNNI", has_avxvnni, run_avxvnni,
                                 [](int64_t n) { return static_cast<double>(n) * sums * 32 * 2; }};
const ComputeKernel avx512vnni_int8{"int8", "AVX-512 VNNI", has_avx512vnni, run_avx512vnni,
                                    [](int64_t n) { return static_cast<double>(n) * sums * 64 * 2; }};

}  // namespace deepgap
