#include "model/gguf/weight_type.h"

#include "model/eval/half.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>

namespace deepgap {
namespace {

constexpr std::array<WeightFormat, 8> formats{{{WeightType::f32, 0, "F32", 1, 4},
                                               {WeightType::f16, 1, "F16", 1, 2},
                                               {WeightType::bf16, 30, "BF16", 1, 2},
                                               {WeightType::q8_0, 8, "Q8_0", 32, 34},
                                               {WeightType::q4_0, 2, "Q4_0", 32, 18},
                                               {WeightType::q4_1, 3, "Q4_1", 32, 20},
                                               {WeightType::q4_k, 12, "Q4_K", 256, 144},
                                               {WeightType::q6_k, 14, "Q6_K", 256, 210}}};

struct OtherType {
  uint32_t number;
  const char* name;
};
constexpr OtherType other_types[] = {{6, "Q5_0"},   {7, "Q5_1"},     {9, "Q8_1"},    {10, "Q2_K"},    {11, "Q3_K"},  {13, "Q5_K"},
                                     {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"},
                                     {21, "IQ3_S"}, {22, "IQ2_S"},   {23, "IQ4_XS"}, {24, "I8"},      {25, "I16"},   {26, "I32"},
                                     {27, "I64"},   {28, "F64"},     {29, "IQ1_M"},  {34, "TQ1_0"},   {35, "TQ2_0"}, {39, "MXFP4"}};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

template <typename T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float half_at(const std::byte* at) { return to_float(read<Half>(at)); }
uint8_t byte_at(const std::byte* at, int64_t i) { return static_cast<uint8_t>(at[i]); }

// Two numbers a byte: the first half of the block in the low bits, the second half in the high bits.
void unpack_nibbles(const std::byte* bits, float scale, float offset, float* to) {
  for (int64_t i = 0; i < 16; ++i) {
    to[i] = scale * static_cast<float>(byte_at(bits, i) & 15) + offset;
    to[i + 16] = scale * static_cast<float>(byte_at(bits, i) >> 4) + offset;
  }
}

void unpack_q8_0(const std::byte* block, float* to) {
  const float scale = half_at(block);
  for (int64_t i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(static_cast<int8_t>(byte_at(block + 2, i)));
}

// Eight groups of 32 numbers; the scale and the offset of each group have six bits, of which the last four groups have the upper two
// elsewhere.
void unpack_q4_k(const std::byte* block, float* to) {
  const float scale = half_at(block), offset = half_at(block + 2);
  const std::byte* bits = block + 16;
  for (int group = 0; group < 8; ++group) {
    const SixBits six = q4_k_scales(block + 4, group);
    const float by = scale * static_cast<float>(six.scale), minus = offset * static_cast<float>(six.offset);
    const std::byte* from = bits + 32 * (group / 2);
    for (int64_t i = 0; i < 32; ++i) {
      const int number = group % 2 == 0 ? byte_at(from, i) & 15 : byte_at(from, i) >> 4;
      to[32 * group + i] = by * static_cast<float>(number) - minus;
    }
  }
}

void unpack_q6_k(const std::byte* block, float* to) {
  const float scale = half_at(block + 208);
  int8_t numbers[256];
  q6_k_numbers(block, numbers);
  for (int i = 0; i < 256; ++i)
    to[i] = scale * static_cast<float>(static_cast<int8_t>(byte_at(block + 192, i / 16))) * static_cast<float>(numbers[i]);
}

void unpack_block(WeightType type, const std::byte* block, float* to) {
  switch (type) {
    case WeightType::f32:
      *to = read<float>(block);
      return;
    case WeightType::f16:
      *to = half_at(block);
      return;
    case WeightType::bf16:
      *to = to_float(read<Bfloat16>(block));
      return;
    case WeightType::q8_0:
      return unpack_q8_0(block, to);
    case WeightType::q4_0: {
      const float scale = half_at(block);
      return unpack_nibbles(block + 2, scale, -8 * scale, to);
    }
    case WeightType::q4_1:
      return unpack_nibbles(block + 4, half_at(block), half_at(block + 2), to);
    case WeightType::q4_k:
      return unpack_q4_k(block, to);
    case WeightType::q6_k:
      return unpack_q6_k(block, to);
  }
}

void write_half(float value, std::byte* to) {
  const Half half = to_half(value);
  std::memcpy(to, &half, sizeof half);
}

void pack_q8_0(const float* from, std::byte* block) {
  float largest = 0;
  for (int i = 0; i < 32; ++i) largest = std::max(largest, std::abs(from[i]));
  const float scale = largest / 127;
  write_half(scale, block);
  for (int i = 0; i < 32; ++i) block[2 + i] = static_cast<std::byte>(static_cast<int8_t>(scale == 0 ? 0 : std::lround(from[i] / scale)));
}

void pack_nibbles(const float* from, float scale, float offset, std::byte* bits) {
  const auto number = [&](float value) {
    return static_cast<uint8_t>(std::clamp(scale == 0 ? 0L : std::lround((value - offset) / scale), 0L, 15L));
  };
  for (int i = 0; i < 16; ++i) bits[i] = static_cast<std::byte>(number(from[i]) | number(from[i + 16]) << 4);
}

// The number of largest magnitude gets -8, which is the wider side.
void pack_q4_0(const float* from, std::byte* block) {
  const float extreme = *std::max_element(from, from + 32, [](float a, float b) { return std::abs(a) < std::abs(b); });
  const float scale = extreme / -8;
  write_half(scale, block);
  pack_nibbles(from, scale, -8 * scale, block + 2);
}

void pack_q4_1(const float* from, std::byte* block) {
  const auto [low, high] = std::minmax_element(from, from + 32);
  const float scale = (*high - *low) / 15;
  write_half(scale, block);
  write_half(*low, block + 2);
  pack_nibbles(from, scale, *low, block + 4);
}

void pack_block(WeightType type, const float* from, std::byte* block) {
  switch (type) {
    case WeightType::f32:
      std::memcpy(block, from, sizeof(float));
      return;
    case WeightType::f16:
      return write_half(*from, block);
    case WeightType::bf16: {
      const Bfloat16 value = to_bfloat16(*from);
      std::memcpy(block, &value, sizeof value);
      return;
    }
    case WeightType::q8_0:
      return pack_q8_0(from, block);
    case WeightType::q4_0:
      return pack_q4_0(from, block);
    case WeightType::q4_1:
      return pack_q4_1(from, block);
    default:
      throw Error(ErrorKind::internal, fmt::format("nothing here writes weights of type {}", format_of(type).name));
  }
}

}  // namespace

SixBits q4_k_scales(const std::byte* twelve, int group) {
  if (group < 4) return {static_cast<uint8_t>(byte_at(twelve, group) & 63), static_cast<uint8_t>(byte_at(twelve, group + 4) & 63)};
  const uint8_t both = byte_at(twelve, group + 4);
  return {static_cast<uint8_t>((both & 15) | (byte_at(twelve, group - 4) >> 6) << 4),
          static_cast<uint8_t>((both >> 4) | (byte_at(twelve, group) >> 6) << 4)};
}

void q6_k_numbers(const std::byte* block, int8_t* to) {
  for (int half = 0; half < 2; ++half) {
    const std::byte *low = block + 64 * half, *high = block + 128 + 32 * half;
    for (int i = 0; i < 32; ++i) {
      const int first = byte_at(low, i), second = byte_at(low, i + 32), upper = byte_at(high, i);
      int8_t* out = to + 128 * half + i;
      out[0] = static_cast<int8_t>(((first & 15) | (upper & 3) << 4) - 32);
      out[32] = static_cast<int8_t>(((second & 15) | (upper >> 2 & 3) << 4) - 32);
      out[64] = static_cast<int8_t>(((first >> 4) | (upper >> 4 & 3) << 4) - 32);
      out[96] = static_cast<int8_t>(((second >> 4) | (upper >> 6 & 3) << 4) - 32);
    }
  }
}

std::span<const WeightFormat> weight_formats() { return formats; }

const WeightFormat& format_of(WeightType type) { return formats[static_cast<size_t>(type)]; }

const WeightFormat* find_weight_format(uint32_t gguf_number) {
  const auto* found = std::find_if(formats.begin(), formats.end(), [&](const WeightFormat& one) { return one.gguf_number == gguf_number; });
  return found == formats.end() ? nullptr : found;
}

const WeightFormat* find_weight_format(std::string_view any_case) {
  const std::string wanted = lower_case(any_case);
  const auto* found = std::find_if(formats.begin(), formats.end(), [&](const WeightFormat& one) { return lower_case(one.name) == wanted; });
  return found == formats.end() ? nullptr : found;
}

std::string gguf_type_name(uint32_t gguf_number) {
  if (const WeightFormat* known = find_weight_format(gguf_number)) return std::string(known->name);
  for (const OtherType& other : other_types)
    if (other.number == gguf_number) return other.name;
  return fmt::format("type {}", gguf_number);
}

int64_t row_bytes(WeightType type, int64_t columns) {
  const WeightFormat& format = format_of(type);
  return columns / format.block * format.block_bytes;
}

void dequantize_row(WeightType type, const std::byte* row, std::span<float> values) {
  const WeightFormat& format = format_of(type);
  const int64_t blocks = static_cast<int64_t>(values.size()) / format.block;
  for (int64_t b = 0; b < blocks; ++b) unpack_block(type, row + b * format.block_bytes, values.data() + b * format.block);
}

void quantize_row(WeightType type, std::span<const float> values, std::byte* row) {
  const WeightFormat& format = format_of(type);
  const int64_t blocks = static_cast<int64_t>(values.size()) / format.block;
  for (int64_t b = 0; b < blocks; ++b) pack_block(type, values.data() + b * format.block, row + b * format.block_bytes);
}

}  // namespace deepgap
