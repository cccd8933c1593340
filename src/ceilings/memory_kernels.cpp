// Going through memory: four vectors at a time, so that the adds do not wait for each other.
#include "ceilings/kernels.h"

namespace deepgap {
namespace {

typedef uint64_t Words __attribute__((vector_size(64), may_alias));
typedef float Floats __attribute__((vector_size(64), may_alias));

__attribute__((always_inline)) inline uint64_t read_all(const std::byte* data, size_t bytes) {
  const auto* at = reinterpret_cast<const Words*>(data);
  Words sum[4] = {};
  for (size_t i = 0; i < bytes / sizeof(Words); i += 4) {
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; ++k) sum[k] += at[i + k];
  }
  const Words all = sum[0] + sum[1] + sum[2] + sum[3];
  uint64_t result = 0;
  for (int i = 0; i < 8; ++i) result += all[i];
  return result;
}

__attribute__((always_inline)) inline void triad_all(float* a, const float* b, const float* c, float factor, size_t bytes) {
  auto* to = reinterpret_cast<Floats*>(a);
  const auto *from = reinterpret_cast<const Floats*>(b), *scaled = reinterpret_cast<const Floats*>(c);
  for (size_t i = 0; i < bytes / sizeof(Floats); i += 4) {
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; ++k) to[i + k] = from[i + k] + factor * scaled[i + k];
  }
}

uint64_t read_sse2(const std::byte* data, size_t bytes) { return read_all(data, bytes); }
void triad_sse2(float* a, const float* b, const float* c, float factor, size_t bytes) { triad_all(a, b, c, factor, bytes); }

__attribute__((target("avx2"))) uint64_t read_avx2(const std::byte* data, size_t bytes) { return read_all(data, bytes); }
__attribute__((target("avx2"))) void triad_avx2(float* a, const float* b, const float* c, float factor, size_t bytes) {
  triad_all(a, b, c, factor, bytes);
}

__attribute__((target("avx512f"))) uint64_t read_avx512(const std::byte* data, size_t bytes) { return read_all(data, bytes); }
__attribute__((target("avx512f"))) void triad_avx512(float* a, const float* b, const float* c, float factor, size_t bytes) {
  triad_all(a, b, c, factor, bytes);
}

}  // namespace

MemoryKernel memory_kernel() {
  if (__builtin_cpu_supports("avx512f")) return {read_avx512, triad_avx512};
  if (__builtin_cpu_supports("avx2")) return {read_avx2, triad_avx2};
  return {read_sse2, triad_sse2};
}

}  // namespace deepgap
