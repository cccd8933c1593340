// Functions of one input, element by element.
#pragma once

#include "model/eval/element_types.h"
#include "model/eval/parallel.h"

#include <algorithm>

namespace deepgap {

// `weight`: the rough number of operations of one element.
template <typename From, typename To, typename F>
Tensor map_elements(const Tensor& x, DataType result, double weight, F function) {
  constexpr int64_t part_size = 1 << 14;
  Tensor y = make_tensor(result, x.shape);
  const auto from = x.as<From>();
  const auto to = writable<To>(y);
  const auto count = static_cast<int64_t>(from.size());
  parallel_for((count + part_size - 1) / part_size, weight * part_size, [&](int64_t part) {
    const int64_t end = std::min(count, (part + 1) * part_size);
    for (int64_t i = part * part_size; i < end; ++i) to[i] = function(from[i]);
  });
  return y;
}

// Maps input 0 to a result of the same type. The function is called with float or double ...
template <typename F>
std::vector<Tensor> map_floats(const Call& call, F function, double weight = 1) {
  const Tensor& x = call.input(0);
  return with_float(call, x.type, [&]<typename T>(T) { return std::vector{map_elements<T, T>(x, x.type, weight, function)}; });
}
// ... or with any number.
template <typename F>
std::vector<Tensor> map_numbers(const Call& call, F function) {
  const Tensor& x = call.input(0);
  return with_number(call, x.type, [&]<typename T>(T) { return std::vector{map_elements<T, T>(x, x.type, 1, function)}; });
}

// One that the C library computes, in double precision (see eval_unary.cpp).
using LibraryFunction = double (*)(double);
template <LibraryFunction function>
std::vector<Tensor> map_library(const Call& call) {
  constexpr double operations = 20;
  return map_floats(
      call, [](auto x) { return static_cast<decltype(x)>(function(static_cast<double>(x))); }, operations);
}

}  // namespace deepgap
