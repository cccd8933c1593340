// The decoder's inner loops with AVX2 intrinsics, compiled once for each instruction set: the file that includes this defines
// DEEPGAP_DECODER_TARGET, the attribute of its functions, and DEEPGAP_DECODER_VNNI, 1 where products of bytes are summed by VPDPBUSD.
//
// Why it is fast: a token reads every weight once, so the weights' bytes per second are the limit. Rows lie eight side by side
// (packed_matrix.h); a product of 32 columns costs about 45 instructions for eight rows, which two cores hide behind the memory. A prompt's
// tokens go four at a time, so that the unpacking of a block serves all four.
#include "engine/decoder/kernels.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepgap {
namespace {

constexpr int64_t lanes = PackedMatrix::rows_a_group, block = PackedMatrix::quantized_columns;
constexpr int tile = 4;  // rows of activations together

#define INLINE [[gnu::always_inline]] DEEPGAP_DECODER_TARGET inline

INLINE __m256i bytes_at(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
INLINE __m256 halves_at(const void* from) { return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(from))); }
INLINE __m256 unsigned_bytes_at(const void* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(from))));
}
INLINE __m256 signed_bytes_at(const void* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(from))));
}
INLINE __m256i four_columns(const int8_t* x) {
  int32_t bits = 0;
  std::memcpy(&bits, x, sizeof bits);
  return _mm256_set1_epi32(bits);
}
INLINE float sum_of(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// `count` rows of activations, from one on.
template <int count>
struct Tile {
  const int8_t* x[count];
  const float* scales[count];
  const float* sums[count];
};

// sums[t] of 32 columns, in 32 bits: numbers from 0 to 15 times x.
template <int count>
INLINE void nibble_products(const std::byte* chunks, const Tile<count>& rows, int64_t column, __m256i* sums) {
  const __m256i low_bits = _mm256_set1_epi8(15);
  for (int t = 0; t < count; ++t) sums[t] = _mm256_setzero_si256();
  for (int j = 0; j < 4; ++j) {
    const __m256i both = bytes_at(chunks + 32 * j);
    const __m256i low = _mm256_and_si256(both, low_bits), high = _mm256_and_si256(_mm256_srli_epi16(both, 4), low_bits);
    for (int t = 0; t < count; ++t) {
      const int8_t* x = rows.x[t] + column + 4 * j;
#if DEEPGAP_DECODER_VNNI
      sums[t] = _mm256_dpbusd_epi32(sums[t], low, four_columns(x));
      sums[t] = _mm256_dpbusd_epi32(sums[t], high, four_columns(x + 16));
#else
      // Eight products of at most 15 * 127 * 2 fit into 16 bits.
      sums[t] = _mm256_add_epi16(sums[t], _mm256_maddubs_epi16(low, four_columns(x)));
      sums[t] = _mm256_add_epi16(sums[t], _mm256_maddubs_epi16(high, four_columns(x + 16)));
#endif
    }
  }
#if !DEEPGAP_DECODER_VNNI
  for (int t = 0; t < count; ++t) sums[t] = _mm256_madd_epi16(sums[t], _mm256_set1_epi16(1));
#endif
}

// The same of `chunks_count` chunks of four columns with numbers from -128 to 127: the sign of the weight goes to the other factor.
template <int count, int chunks_count>
INLINE void byte_products(const std::byte* chunks, const Tile<count>& rows, int64_t column, __m256i* sums) {
  for (int t = 0; t < count; ++t) sums[t] = _mm256_setzero_si256();
  for (int j = 0; j < chunks_count; ++j) {
    const __m256i weights = bytes_at(chunks + 32 * j), sizes = _mm256_abs_epi8(weights);
    for (int t = 0; t < count; ++t) {
      const __m256i x = _mm256_sign_epi8(four_columns(rows.x[t] + column + 4 * j), weights);
#if DEEPGAP_DECODER_VNNI
      sums[t] = _mm256_dpbusd_epi32(sums[t], sizes, x);
#else
      sums[t] = _mm256_add_epi32(sums[t], _mm256_madd_epi16(_mm256_maddubs_epi16(sizes, x), _mm256_set1_epi16(1)));
#endif
    }
  }
}

template <int count>
INLINE void add_scaled(const __m256i* products, __m256 scale, const Tile<count>& rows, int64_t b, __m256* to) {
  for (int t = 0; t < count; ++t)
    to[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(products[t]), _mm256_mul_ps(scale, _mm256_set1_ps(rows.scales[t][b])), to[t]);
}

template <int count>
INLINE void add_offsets(__m256 offset, const Tile<count>& rows, int64_t b, __m256* to) {
  for (int t = 0; t < count; ++t) to[t] = _mm256_fmadd_ps(offset, _mm256_set1_ps(rows.sums[t][b]), to[t]);
}

template <int count>
INLINE void group_q8_0(const std::byte* at, const Tile<count>& rows, int64_t blocks, __m256* to) {
  for (int64_t b = 0; b < blocks; ++b, at += 16 + 256) {
    __m256i products[count];
    byte_products<count, 8>(at + 16, rows, b * block, products);
    add_scaled<count>(products, halves_at(at), rows, b, to);
  }
}

template <int count>
INLINE void group_q4_0(const std::byte* at, const Tile<count>& rows, int64_t blocks, __m256* to) {
  for (int64_t b = 0; b < blocks; ++b, at += 16 + 128) {
    __m256i products[count];
    const __m256 scale = halves_at(at);
    nibble_products<count>(at + 16, rows, b * block, products);
    add_scaled<count>(products, scale, rows, b, to);
    add_offsets<count>(_mm256_mul_ps(scale, _mm256_set1_ps(-8)), rows, b, to);
  }
}

template <int count>
INLINE void group_q4_1(const std::byte* at, const Tile<count>& rows, int64_t blocks, __m256* to) {
  for (int64_t b = 0; b < blocks; ++b, at += 32 + 128) {
    __m256i products[count];
    nibble_products<count>(at + 32, rows, b * block, products);
    add_scaled<count>(products, halves_at(at), rows, b, to);
    add_offsets<count>(halves_at(at + 16), rows, b, to);
  }
}

template <int count>
INLINE void group_q4_k(const std::byte* at, const Tile<count>& rows, int64_t blocks, __m256* to) {
  for (int64_t b = 0; b < blocks; b += 8) {
    const __m256 scale = halves_at(at), offset = _mm256_sub_ps(_mm256_setzero_ps(), halves_at(at + 16));
    at += 32;
    for (int64_t i = b; i < b + 8; ++i, at += 16 + 128) {
      __m256i products[count];
      nibble_products<count>(at + 16, rows, i * block, products);
      add_scaled<count>(products, _mm256_mul_ps(scale, unsigned_bytes_at(at)), rows, i, to);
      add_offsets<count>(_mm256_mul_ps(offset, unsigned_bytes_at(at + 8)), rows, i, to);
    }
  }
}

template <int count>
INLINE void group_q6_k(const std::byte* at, const Tile<count>& rows, int64_t blocks, __m256* to) {
  for (int64_t b = 0; b < blocks; b += 8) {
    const __m256 scale = halves_at(at);
    at += 16;
    for (int64_t i = b; i < b + 8; ++i, at += 16 + 256)
      for (int part = 0; part < 2; ++part) {
        __m256i products[count];
        byte_products<count, 4>(at + 16 + 128 * part, rows, i * block + 16 * part, products);
        add_scaled<count>(products, _mm256_mul_ps(scale, signed_bytes_at(at + 8 * part)), rows, i, to);
      }
  }
}

// Eight numbers of type f32, f16 or bf16 as floats.
template <WeightType type>
INLINE __m256 numbers_at(const std::byte* at) {
  if constexpr (type == WeightType::f32) return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
  if constexpr (type == WeightType::f16) return halves_at(at);
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

// Even and odd columns have sums of their own, so that one row is not slowed by the latency of its additions.
template <WeightType type, int count>
INLINE void group_floats(const std::byte* at, const float* x, int64_t columns, __m256* to) {
  constexpr int64_t bytes = type == WeightType::f32 ? 32 : 16;
  __m256 odd[count];
  for (int t = 0; t < count; ++t) odd[t] = _mm256_setzero_ps();
  int64_t c = 0;
  for (; c + 2 <= columns; c += 2, at += 2 * bytes) {
    const __m256 first = numbers_at<type>(at), second = numbers_at<type>(at + bytes);
    for (int t = 0; t < count; ++t) {
      to[t] = _mm256_fmadd_ps(first, _mm256_set1_ps(x[t * columns + c]), to[t]);
      odd[t] = _mm256_fmadd_ps(second, _mm256_set1_ps(x[t * columns + c + 1]), odd[t]);
    }
  }
  if (c < columns)
    for (int t = 0; t < count; ++t) to[t] = _mm256_fmadd_ps(numbers_at<type>(at), _mm256_set1_ps(x[t * columns + c]), to[t]);
  for (int t = 0; t < count; ++t) to[t] = _mm256_add_ps(to[t], odd[t]);
}

// One group of eight matrix rows times `count` rows of activations.
template <WeightType type, int count>
DEEPGAP_DECODER_TARGET void multiply_group(const std::byte* group, const Activations& x, int64_t row, __m256* to) {
  for (int t = 0; t < count; ++t) to[t] = _mm256_setzero_ps();
  if constexpr (type == WeightType::f32 || type == WeightType::f16 || type == WeightType::bf16) {
    group_floats<type, count>(group, x.floats + row * x.columns, x.columns, to);
  } else {
    const int64_t blocks = x.columns / block;
    Tile<count> rows;
    for (int t = 0; t < count; ++t) {
      rows.x[t] = x.integers + (row + t) * x.columns;
      rows.scales[t] = x.scales + (row + t) * blocks;
      rows.sums[t] = x.sums + (row + t) * blocks;
    }
    if constexpr (type == WeightType::q8_0) group_q8_0<count>(group, rows, blocks, to);
    if constexpr (type == WeightType::q4_0) group_q4_0<count>(group, rows, blocks, to);
    if constexpr (type == WeightType::q4_1) group_q4_1<count>(group, rows, blocks, to);
    if constexpr (type == WeightType::q4_k) group_q4_k<count>(group, rows, blocks, to);
    if constexpr (type == WeightType::q6_k) group_q6_k<count>(group, rows, blocks, to);
  }
}

// The last group may have less than eight rows.
INLINE void store(__m256 values, int64_t wanted, float* to) {
  if (wanted >= lanes) return _mm256_storeu_ps(to, values);
  float all[lanes];
  _mm256_storeu_ps(all, values);
  std::copy_n(all, wanted, to);
}

template <WeightType type>
DEEPGAP_DECODER_TARGET void multiply_as(const PackedMatrix& matrix, const Activations& x, int64_t rows, int64_t first_group,
                                        int64_t end_group, float* to, int64_t stride) {
  for (int64_t g = first_group; g < end_group; ++g) {
    const std::byte* group = matrix.group(g);
    const int64_t wanted = matrix.rows - g * lanes;
    __m256 sums[tile];
    int64_t row = 0;
    for (; row + tile <= rows; row += tile) {
      multiply_group<type, tile>(group, x, row, sums);
      for (int t = 0; t < tile; ++t) store(sums[t], wanted, to + (row + t) * stride + g * lanes);
    }
    for (; row < rows; ++row) {
      multiply_group<type, 1>(group, x, row, sums);
      store(sums[0], wanted, to + row * stride + g * lanes);
    }
  }
}

void multiply(const PackedMatrix& matrix, const Activations& x, int64_t rows, int64_t first_group, int64_t end_group, float* to,
              int64_t stride) {
  using Multiply = void (*)(const PackedMatrix&, const Activations&, int64_t, int64_t, int64_t, float*, int64_t);
  static constexpr Multiply by_type[] = {multiply_as<WeightType::f32>,  multiply_as<WeightType::f16>,  multiply_as<WeightType::bf16>,
                                         multiply_as<WeightType::q8_0>, multiply_as<WeightType::q4_0>, multiply_as<WeightType::q4_1>,
                                         multiply_as<WeightType::q4_k>, multiply_as<WeightType::q6_k>};
  by_type[static_cast<size_t>(matrix.type)](matrix, x, rows, first_group, end_group, to, stride);
}

DEEPGAP_DECODER_TARGET void quantize(const float* from, int64_t columns, int8_t* integers, float* scales, float* sums) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  for (int64_t b = 0; b < columns / block; ++b, from += block, integers += block) {
    __m256 x[4];
    __m256 most = _mm256_setzero_ps();
    for (int i = 0; i < 4; ++i) {
      x[i] = _mm256_loadu_ps(from + 8 * i);
      most = _mm256_max_ps(most, _mm256_andnot_ps(sign, x[i]));
    }
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(most), _mm256_extractf128_ps(most, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    const float largest = _mm_cvtss_f32(_mm_max_ss(four, _mm_shuffle_ps(four, four, 1)));
    const float scale = largest / 127, inverse = largest > 0 ? 127 / largest : 0;
    __m256i whole[4];
    for (int i = 0; i < 4; ++i) whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(x[i], _mm256_set1_ps(inverse)));
    const __m256i total = _mm256_add_epi32(_mm256_add_epi32(whole[0], whole[1]), _mm256_add_epi32(whole[2], whole[3]));
    const __m256i shorts = _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3]));
    // Packing works within halves of a register: put the groups of four in order.
    const __m256i ordered = _mm256_permutevar8x32_epi32(shorts, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(integers), ordered);
    scales[b] = scale;
    sums[b] = scale * sum_of(_mm256_cvtepi32_ps(total));  // whole numbers far below 2^24: exact
  }
}

// Computes e^x for x <= 0, like attention_exponential().
INLINE __m256 exponential(__m256 x) {
  const __m256 lowest = _mm256_set1_ps(-87.3F), rounding = _mm256_set1_ps(12582912.0F);
  const __m256 bounded = _mm256_max_ps(x, lowest);
  const __m256 shifted = _mm256_fmadd_ps(bounded, _mm256_set1_ps(1.44269504088896341F), rounding);
  const __m256 n = _mm256_sub_ps(shifted, rounding);
  const __m256 rest = _mm256_fmadd_ps(n, _mm256_set1_ps(2.12194440e-4F), _mm256_fmadd_ps(n, _mm256_set1_ps(-0.693359375F), bounded));
  __m256 p = _mm256_set1_ps(1.9875691500e-4F);
  for (const float factor : {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F})
    p = _mm256_fmadd_ps(p, rest, _mm256_set1_ps(factor));
  p = _mm256_add_ps(_mm256_fmadd_ps(_mm256_mul_ps(p, rest), rest, rest), _mm256_set1_ps(1));
  const __m256i exponent = _mm256_slli_epi32(
      _mm256_add_epi32(_mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_castps_si256(rounding)), _mm256_set1_epi32(127)), 23);
  const __m256 result = _mm256_mul_ps(p, _mm256_castsi256_ps(exponent));
  return _mm256_andnot_ps(_mm256_cmp_ps(x, lowest, _CMP_LT_OQ), result);
}

// Scores of eight positions at a time.
template <int heads>
DEEPGAP_DECODER_TARGET void score(const float* queries, int64_t head_size, const uint16_t* keys, int64_t eights, float* scores) {
  for (int64_t e = 0; e < eights; ++e) {
    __m256 sums[heads];
    for (int h = 0; h < heads; ++h) sums[h] = _mm256_setzero_ps();
    for (int64_t d = 0; d < head_size; ++d) {
      const __m256 key = halves_at(keys + (e * head_size + d) * lanes);
      for (int h = 0; h < heads; ++h) sums[h] = _mm256_fmadd_ps(key, _mm256_set1_ps(queries[h * head_size + d]), sums[h]);
    }
    for (int h = 0; h < heads; ++h) _mm256_storeu_ps(scores + (h * eights + e) * lanes, sums[h]);
  }
}

// Makes weights of scores, and returns their sum. Positions behind the last have the weight 0.
DEEPGAP_DECODER_TARGET float weigh(float* scores, int64_t positions, int64_t eights) {
  for (int64_t p = positions; p < eights * lanes; ++p) scores[p] = -INFINITY;
  __m256 most = _mm256_set1_ps(-INFINITY);
  for (int64_t e = 0; e < eights; ++e) most = _mm256_max_ps(most, _mm256_loadu_ps(scores + e * lanes));
  float all[lanes];
  _mm256_storeu_ps(all, most);
  const __m256 largest = _mm256_set1_ps(*std::max_element(all, all + lanes));
  __m256 sum = _mm256_setzero_ps();
  for (int64_t e = 0; e < eights; ++e) {
    const __m256 weight = exponential(_mm256_sub_ps(_mm256_loadu_ps(scores + e * lanes), largest));
    _mm256_storeu_ps(scores + e * lanes, weight);
    sum = _mm256_add_ps(sum, weight);
  }
  return sum_of(sum);
}

// Sums of values by weights, for 32 numbers of a head at a time.
template <int heads, int registers>
DEEPGAP_DECODER_TARGET void mix(const float* weights, int64_t stride, const float* sums, const uint16_t* values, int64_t head_size,
                                int64_t positions, float* to) {
  __m256 mixed[heads][registers];
  for (auto& head : mixed)
    for (__m256& one : head) one = _mm256_setzero_ps();
  for (int64_t p = 0; p < positions; ++p) {
    __m256 value[registers];
    for (int r = 0; r < registers; ++r) value[r] = halves_at(values + p * head_size + 8 * r);
    for (int h = 0; h < heads; ++h) {
      const __m256 weight = _mm256_set1_ps(weights[h * stride + p]);
      for (int r = 0; r < registers; ++r) mixed[h][r] = _mm256_fmadd_ps(weight, value[r], mixed[h][r]);
    }
  }
  for (int h = 0; h < heads; ++h)
    for (int r = 0; r < registers; ++r) _mm256_storeu_ps(to + h * head_size + 8 * r, _mm256_div_ps(mixed[h][r], _mm256_set1_ps(sums[h])));
}

template <int heads>
DEEPGAP_DECODER_TARGET void attend_heads(const float* queries, int64_t head_size, const CachedHead& cached, int64_t positions,
                                         float* scores, float* to) {
  const int64_t eights = (positions + lanes - 1) / lanes;
  score<heads>(queries, head_size, cached.keys, eights, scores);
  float sums[heads];
  for (int h = 0; h < heads; ++h) sums[h] = weigh(scores + h * eights * lanes, positions, eights);
  int64_t d = 0;
  for (; d + 32 <= head_size; d += 32) mix<heads, 4>(scores, eights * lanes, sums, cached.values + d, head_size, positions, to + d);
  for (; d + 8 <= head_size; d += 8) mix<heads, 1>(scores, eights * lanes, sums, cached.values + d, head_size, positions, to + d);
}

void attend(const float* queries, int64_t heads, int64_t head_size, const CachedHead& cached, int64_t positions, float* scores, float* to) {
  if (head_size % lanes != 0) return plain_decoder_kernels.attend(queries, heads, head_size, cached, positions, scores, to);
  int64_t h = 0;
  const auto at = [&](int64_t head) { return queries + head * head_size; };
  for (; h + 3 <= heads; h += 3) attend_heads<3>(at(h), head_size, cached, positions, scores, to + h * head_size);
  if (heads - h == 2) {
    attend_heads<2>(at(h), head_size, cached, positions, scores, to + h * head_size);
  } else if (heads - h == 1) {
    attend_heads<1>(at(h), head_size, cached, positions, scores, to + h * head_size);
  }
}

DEEPGAP_DECODER_TARGET void gate(float* values, const float* up, int64_t count) {
  int64_t i = 0;
  const __m256 sign = _mm256_set1_ps(-0.0F), one = _mm256_set1_ps(1);
  for (; i + lanes <= count; i += lanes) {
    const __m256 x = _mm256_loadu_ps(values + i);
    const __m256 e = exponential(_mm256_or_ps(x, sign));  // exponential of minus the absolute value
    const __m256 above = _mm256_blendv_ps(one, e, x);     // the sigmoid's numerator: e below 0
    const __m256 silu = _mm256_mul_ps(x, _mm256_div_ps(above, _mm256_add_ps(one, e)));
    _mm256_storeu_ps(values + i, _mm256_mul_ps(silu, _mm256_loadu_ps(up + i)));
  }
  plain_decoder_kernels.gate(values + i, up + i, count - i);
}

DEEPGAP_DECODER_TARGET void to_halves(const float* from, int64_t count, uint16_t* to) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  plain_decoder_kernels.to_halves(from + i, count - i, to + i);
}

#undef INLINE

}  // namespace
}  // namespace deepgap
