// Eight numbers at a time: the same operations as of each, so the same bits. A loop over them is written once and inlined into two
// functions, of which `widest` says what this processor takes: one for AVX-512, which has registers for eight, and one for all, where the
// compiler makes pairs of them (what it makes of eight for AVX2 is slower than those).
#pragma once

namespace deepgap {

using Eight [[gnu::vector_size(64)]] = double;

#if defined(__x86_64__)
#define DEEPGAP_FOR_AVX512 [[gnu::target("avx512f")]]
#else
#define DEEPGAP_FOR_AVX512
#endif

template <typename Function>
Function* widest(Function* plain, [[maybe_unused]] Function* avx512) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return avx512;
#endif
  return plain;
}

}  // namespace deepgap
