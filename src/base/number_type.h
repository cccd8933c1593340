// From the type of a Tensor's elements to the C++ type, for the numbers that C++ has.
#pragma once

#include <deepgap/tensor.h>

#include <cstdint>

namespace deepgap {

// Calls f with a value of the C++ type that stands for the integer `type`, or `otherwise` for other types, and returns the result.
template <typename F, typename Otherwise>
auto of_integer(DataType type, F f, Otherwise otherwise) -> decltype(f(int8_t{})) {
  switch (type) {
    case DataType::i8:
      return f(int8_t{});
    case DataType::i16:
      return f(int16_t{});
    case DataType::i32:
      return f(int32_t{});
    case DataType::i64:
      return f(int64_t{});
    case DataType::u8:
      return f(uint8_t{});
    case DataType::u16:
      return f(uint16_t{});
    case DataType::u32:
      return f(uint32_t{});
    case DataType::u64:
      return f(uint64_t{});
    default:
      return otherwise();
  }
}

// The same, with floats of 32 and 64 bits as well.
template <typename F, typename Otherwise>
auto of_number(DataType type, F f, Otherwise otherwise) -> decltype(f(int8_t{})) {
  if (type == DataType::f32) return f(float{});
  if (type == DataType::f64) return f(double{});
  return of_integer(type, f, otherwise);
}

}  // namespace deepgap
