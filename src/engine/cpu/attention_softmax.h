// The softmax of attention, to be compiled for each instruction set: inlined into functions that name theirs.
#pragma once

#include "engine/cpu/attention_products.h"

#include <bit>
#include <limits>

namespace deepgap {

// Computes e^x for x <= 0 to two units in the last place, 0 below the normal numbers: 2^n times a polynomial in the rest (Cephes' expf).
[[gnu::always_inline]] inline float attention_exponential(float x) {
  constexpr float lowest = -87.3F, rounding = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer, which stands in its last bits
  const float bounded = x < lowest ? lowest : x;
  const float shifted = __builtin_fmaf(bounded, 1.44269504088896341F, rounding), n = shifted - rounding;
  const float rest = __builtin_fmaf(n, 2.12194440e-4F, __builtin_fmaf(n, -0.693359375F, bounded));
  float p = 1.9875691500e-4F;
  p = __builtin_fmaf(p, rest, 1.3981999507e-3F);
  p = __builtin_fmaf(p, rest, 8.3334519073e-3F);
  p = __builtin_fmaf(p, rest, 4.1665795894e-2F);
  p = __builtin_fmaf(p, rest, 1.6666665459e-1F);
  p = __builtin_fmaf(p, rest, 5.0000001201e-1F);
  p = __builtin_fmaf(p * rest, rest, rest) + 1.0F;
  const int32_t exponent = (std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(rounding) + 127) << 23;
  const float result = p * std::bit_cast<float>(exponent);
  return x < lowest ? 0.0F : result;
}

// AttentionProducts::take_in.
template <int lanes>
[[gnu::always_inline]] inline void take_in_scores(float* scores, int64_t count, RunningSoftmax& running) {
  constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
  float largest[lanes], shift[lanes];
  for (int c = 0; c < lanes; ++c) largest[c] = running.largest[c];
  for (int64_t k = 0; k < count; ++k)
    for (int c = 0; c < lanes; ++c) largest[c] = scores[k * lanes + c] > largest[c] ? scores[k * lanes + c] : largest[c];
  for (int c = 0; c < lanes; ++c) {
    shift[c] = largest[c] == minus_infinity ? 0.0F : largest[c];  // everything masked so far
    running.factor[c] = attention_exponential(running.largest[c] - shift[c]);
    running.largest[c] = largest[c];
    running.sum[c] *= running.factor[c];
  }
  for (int64_t k = 0; k < count; ++k)
    for (int c = 0; c < lanes; ++c) {
      const float e = attention_exponential(scores[k * lanes + c] - shift[c]);
      scores[k * lanes + c] = e;
      running.sum[c] += e;
    }
}

}  // namespace deepgap
