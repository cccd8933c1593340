// Arithmetic on sizes that come from files: nullopt where 64 bits do not suffice, so that no hostile number reaches an allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace deepgap {

inline std::optional<int64_t> checked_multiply(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// The product of the sizes; nullopt when one is negative or the product passes `limit`. A zero does not hide an overflow elsewhere.
inline std::optional<int64_t> checked_elements(std::span<const int64_t> shape, int64_t limit) {
  int64_t product = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
      continue;
    }
    const auto next = checked_multiply(product, size);
    if (!next || *next > limit) return std::nullopt;
    product = *next;
  }
  return empty ? 0 : product;
}

}  // namespace deepgap
