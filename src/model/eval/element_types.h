// Converts from a Tensor's type to the C++ type of its elements, and from any of these to any other.
#pragma once

#include "base/number_type.h"
#include "model/eval/half.h"
#include "model/eval/operator.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace deepgap {

// Calls f with a value of the C++ type that stands for `type`.
template <typename F>
void with_type(DataType type, F f) {
  switch (type) {
    case DataType::f16:
      return f(Half{});
    case DataType::bf16:
      return f(Bfloat16{});
    case DataType::boolean:
      return f(bool{});
    default:
      return of_number(type, f, [] {});
  }
}

// Calls f as above for the types of a kind; others are refused. 16-bit floats come as float32 (widened.h).
template <typename F>
auto with_float(const Call& call, DataType type, F f) {
  switch (type) {
    case DataType::f32:
      return f(float{});
    case DataType::f64:
      return f(double{});
    default:
      call.refuse(fmt::format("{} is not handled here, only floating-point numbers", name_of(type)));
  }
}
template <typename F>
auto with_integer(const Call& call, DataType type, F f) {
  using Result = decltype(f(int8_t{}));
  return of_integer(type, f, [&]() -> Result { call.refuse(fmt::format("{} is not handled here", name_of(type))); });
}
template <typename F>
auto with_number(const Call& call, DataType type, F f) {
  using Result = decltype(f(int8_t{}));
  return of_number(type, f, [&]() -> Result { call.refuse(fmt::format("{} is not handled here", name_of(type))); });
}

// Beyond the target's range the specification leaves the result open: floats are held at the ends, NaN becomes 0, integers wrap.
template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, Bfloat16>) {
    return convert<To>(to_float(value));
  } else if constexpr (std::is_same_v<To, Half>) {
    return to_half(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Bfloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const double number = value;
    if (number != number) return 0;
    if (number <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (number >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(number);
  } else {
    return static_cast<To>(value);
  }
}

// Each element converted; `x` itself where it has that type.
Tensor converted(const Tensor& x, DataType type);

// The type for sums, differences and products: whole numbers become unsigned, which wrap around as they do in every engine.
template <typename T>
struct WrappingOf {
  using type = T;
};
template <typename T>
requires std::is_integral_v<T>
struct WrappingOf<T> {
  // Narrower ones would be promoted to int.
  using type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};
template <typename T>
using Wrapping = typename WrappingOf<T>::type;

template <typename T>
bool not_a_number(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

}  // namespace deepgap
