// Whole numbers rounded up.
#pragma once

#include <concepts>
#include <type_traits>

namespace deepgap {

// Returns how many parts of `size` hold `whole`, the last one perhaps in part.
template <std::integral A, std::integral B>
constexpr std::common_type_t<A, B> divide_up(A whole, B size) {
  return (whole + size - 1) / size;
}

// The least multiple of `unit` that is not below `value`.
template <std::integral A, std::integral B>
constexpr std::common_type_t<A, B> round_up(A value, B unit) {
  return divide_up(value, unit) * unit;
}

}  // namespace deepgap
