// The two 16-bit float formats as bits, converted in software, rounding to nearest even: the same on every machine.
#pragma once

#include <bit>
#include <cstdint>

namespace deepgap {

struct Half {
  uint16_t bits = 0;
};
struct Bfloat16 {
  uint16_t bits = 0;
};

inline float to_float(Bfloat16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

inline Bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return {static_cast<uint16_t>((bits >> 16) | 0x40)};  // stays a NaN
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

inline float to_float(Half value) {
  const uint32_t sign = (value.bits & 0x8000u) << 16, exponent = value.bits >> 10 & 31, mantissa = value.bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float small = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -small : small;
}

inline Half to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (size >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // rounds past 65504
  if (size < 0x38800000u) {                                                 // below the smallest normal: the adder rounds
    const float shifted = std::bit_cast<float>(size) + 0.5f;                // its last place is 2^-24, as a subnormal half's
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u))};
  }
  const uint32_t rounded = size + 0xfff + (size >> 13 & 1);
  return {static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
}

}  // namespace deepgap
