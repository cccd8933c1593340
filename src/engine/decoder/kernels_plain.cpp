// The decoder's inner loops in plain C++: for CPUs without AVX2, and what the others are tested against.
#include "engine/decoder/kernels.h"
#include "model/eval/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepgap {
namespace {

constexpr int64_t lanes = PackedMatrix::rows_a_group, block = PackedMatrix::quantized_columns;

float half_at(const std::byte* from, int64_t i) {
  Half value;
  std::memcpy(&value, from + 2 * i, sizeof value);
  return to_float(value);
}
int signed_at(const std::byte* from, int64_t i) { return static_cast<int8_t>(from[i]); }
int unsigned_at(const std::byte* from, int64_t i) { return static_cast<uint8_t>(from[i]); }

void quantize(const float* from, int64_t columns, int8_t* integers, float* scales, float* sums) {
  for (int64_t b = 0; b < columns / block; ++b, from += block, integers += block) {
    float largest = 0;
    for (int64_t i = 0; i < block; ++i) largest = std::max(largest, std::abs(from[i]));
    const float scale = largest / 127, inverse = largest > 0 ? 127 / largest : 0;
    int sum = 0;
    for (int64_t i = 0; i < block; ++i) {
      integers[i] = static_cast<int8_t>(std::nearbyint(from[i] * inverse));
      sum += integers[i];
    }
    scales[b] = scale;
    sums[b] = scale * static_cast<float>(sum);
  }
}

// The sum over 32 columns of a row in a block of nibbles.
int nibble_sum(const std::byte* chunks, int64_t lane, const int8_t* x) {
  int sum = 0;
  for (int64_t i = 0; i < 16; ++i) {
    const int both = unsigned_at(chunks, i / 4 * 32 + lane * 4 + i % 4);
    sum += (both & 15) * x[i] + (both >> 4) * x[i + 16];
  }
  return sum;
}

// The sum over `count` columns, of a row in a block of bytes.
int byte_sum(const std::byte* chunks, int64_t lane, const int8_t* x, int64_t count) {
  int sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += signed_at(chunks, i / 4 * 32 + lane * 4 + i % 4) * x[i];
  return sum;
}

struct Row {
  const int8_t* x;
  const float *scales, *sums;
  int64_t blocks;
};

float product_q8_0(const std::byte* at, int64_t lane, const Row& row) {
  float sum = 0;
  for (int64_t b = 0; b < row.blocks; ++b, at += 16 + 256)
    sum += half_at(at, lane) * row.scales[b] * static_cast<float>(byte_sum(at + 16, lane, row.x + b * block, block));
  return sum;
}

float product_q4_0(const std::byte* at, int64_t lane, const Row& row) {
  float sum = 0;
  for (int64_t b = 0; b < row.blocks; ++b, at += 16 + 128) {
    const float scale = half_at(at, lane);
    sum += scale * row.scales[b] * static_cast<float>(nibble_sum(at + 16, lane, row.x + b * block)) - 8 * scale * row.sums[b];
  }
  return sum;
}

float product_q4_1(const std::byte* at, int64_t lane, const Row& row) {
  float sum = 0;
  for (int64_t b = 0; b < row.blocks; ++b, at += 32 + 128)
    sum += half_at(at, lane) * row.scales[b] * static_cast<float>(nibble_sum(at + 32, lane, row.x + b * block)) +
           half_at(at + 16, lane) * row.sums[b];
  return sum;
}

float product_q4_k(const std::byte* at, int64_t lane, const Row& row) {
  float sum = 0;
  for (int64_t b = 0; b < row.blocks; b += 8) {
    const float scale = half_at(at, lane), offset = half_at(at + 16, lane);
    at += 32;
    for (int64_t i = b; i < b + 8; ++i, at += 16 + 128)
      sum += scale * static_cast<float>(unsigned_at(at, lane)) * row.scales[i] *
                 static_cast<float>(nibble_sum(at + 16, lane, row.x + i * block)) -
             offset * static_cast<float>(unsigned_at(at + 8, lane)) * row.sums[i];
  }
  return sum;
}

float product_q6_k(const std::byte* at, int64_t lane, const Row& row) {
  float sum = 0;
  for (int64_t b = 0; b < row.blocks; b += 8) {
    const float scale = half_at(at, lane);
    at += 16;
    for (int64_t i = b; i < b + 8; ++i, at += 16 + 256)
      for (int64_t part = 0; part < 2; ++part)
        sum += scale * static_cast<float>(signed_at(at, 8 * part + lane)) * row.scales[i] *
               static_cast<float>(byte_sum(at + 16 + 128 * part, lane, row.x + i * block + 16 * part, 16));
  }
  return sum;
}

float number_at(WeightType type, const std::byte* at, int64_t i) {
  if (type == WeightType::f16) return half_at(at, i);
  if (type == WeightType::bf16) {
    Bfloat16 value;
    std::memcpy(&value, at + 2 * i, sizeof value);
    return to_float(value);
  }
  float value = 0;
  std::memcpy(&value, at + 4 * i, sizeof value);
  return value;
}

float product_of_floats(WeightType type, const std::byte* at, int64_t lane, const float* x, int64_t columns) {
  float sum = 0;
  for (int64_t c = 0; c < columns; ++c) sum += number_at(type, at, c * lanes + lane) * x[c];
  return sum;
}

float product(const PackedMatrix& matrix, const std::byte* group, int64_t lane, const Activations& x, int64_t row) {
  if (!matrix.multiplies_integers()) return product_of_floats(matrix.type, group, lane, x.floats + row * x.columns, x.columns);
  const int64_t blocks = x.columns / block;
  const Row one{x.integers + row * x.columns, x.scales + row * blocks, x.sums + row * blocks, blocks};
  switch (matrix.type) {
    case WeightType::q8_0:
      return product_q8_0(group, lane, one);
    case WeightType::q4_0:
      return product_q4_0(group, lane, one);
    case WeightType::q4_1:
      return product_q4_1(group, lane, one);
    case WeightType::q4_k:
      return product_q4_k(group, lane, one);
    default:
      return product_q6_k(group, lane, one);
  }
}

void multiply(const PackedMatrix& matrix, const Activations& x, int64_t rows, int64_t first_group, int64_t end_group, float* to,
              int64_t stride) {
  for (int64_t g = first_group; g < end_group; ++g)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t lane = 0; lane < std::min(lanes, matrix.rows - g * lanes); ++lane)
        to[row * stride + g * lanes + lane] = product(matrix, matrix.group(g), lane, x, row);
}

float from_half(uint16_t bits) { return to_float(Half{bits}); }

void attend(const float* queries, int64_t heads, int64_t head_size, const CachedHead& cached, int64_t positions, float* scores, float* to) {
  for (int64_t h = 0; h < heads; ++h) {
    const float* query = queries + h * head_size;
    float largest = -INFINITY, sum = 0;
    for (int64_t p = 0; p < positions; ++p) {
      const uint16_t* key = cached.keys + p / lanes * lanes * head_size + p % lanes;
      float score = 0;
      for (int64_t d = 0; d < head_size; ++d) score += query[d] * from_half(key[d * lanes]);
      scores[p] = score;
      largest = std::max(largest, score);
    }
    std::fill_n(to + h * head_size, head_size, 0.0F);
    for (int64_t p = 0; p < positions; ++p) {
      const float weight = std::exp(scores[p] - largest);
      sum += weight;
      for (int64_t d = 0; d < head_size; ++d) to[h * head_size + d] += weight * from_half(cached.values[p * head_size + d]);
    }
    for (int64_t d = 0; d < head_size; ++d) to[h * head_size + d] /= sum;
  }
}

void gate(float* values, const float* up, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = values[i] / (1 + std::exp(-values[i])) * up[i];
}

void to_halves(const float* from, int64_t count, uint16_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = to_half(from[i]).bits;
}

}  // namespace

const DecoderKernels plain_decoder_kernels{"plain C++", quantize, multiply, attend, gate, to_halves};

}  // namespace deepgap
