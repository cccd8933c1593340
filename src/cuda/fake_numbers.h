// For tests: numbers of every type that played libraries have, in memory of the host.
#pragma once

#include "cuda/cublas_lt.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace deepgap::cuda {

template <typename T>
T read_at(const void* from, uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
void write_at(void* to, uint64_t index, T value) {
  std::memcpy(static_cast<char*>(to) + index * sizeof(T), &value, sizeof(T));
}
// `type`: a cudaDataType, as cublas_lt.h has them.
inline double number_of(int type, const void* from, uint64_t index) {
  if (type == lt_f32) return read_at<float>(from, index);
  if (type == lt_f16) return static_cast<double>(read_at<_Float16>(from, index));
  if (type == lt_bf16) return std::bit_cast<float>(static_cast<uint32_t>(read_at<uint16_t>(from, index)) << 16);
  if (type == lt_i32) return read_at<int32_t>(from, index);
  if (type == lt_i8) return read_at<int8_t>(from, index);
  const auto bits = read_at<uint8_t>(from, index);  // E4M3
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  const double size = std::ldexp(exponent == 0 ? fraction : fraction + 8, std::max(exponent, 1) - 10);
  return bits >> 7 != 0 ? -size : size;
}
inline void put_number(int type, void* to, uint64_t index, double value) {
  if (type == lt_f32) write_at(to, index, static_cast<float>(value));
  if (type == lt_f16) write_at(to, index, static_cast<_Float16>(value));
  if (type == lt_i32) write_at(to, index, static_cast<int32_t>(value));
  if (type != lt_bf16) return;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  write_at(to, index, static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}

}  // namespace deepgap::cuda
