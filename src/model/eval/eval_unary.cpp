// Functions of one number; activations are in eval_activation.cpp. What is exact in IEEE arithmetic (Sqrt, Round, ...) gives the same bits
// on every machine. Exp, Log, Erf, Pow, the functions of angles, and activations made of them go through the C library in double precision
// and are then rounded: right to within one unit in the last place of a float, and practically but not provably the same everywhere.
// None of these is on the path of seeded weights.
#include "model/eval/map_elements.h"
#include "model/eval/widened.h"

#include <cmath>

namespace deepgap {

namespace {

template <typename T>
T negated(T x) {
  if constexpr (std::is_floating_point_v<T>) return -x;
  return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x));
}
template <typename T>
T size_of(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
  if constexpr (std::is_signed_v<T>) return x < 0 ? negated(x) : x;
  return x;
}

std::vector<Tensor> negate(const Call& call) {
  return map_numbers(call, [](auto x) { return negated(x); });
}
std::vector<Tensor> absolute(const Call& call) {
  return map_numbers(call, [](auto x) { return size_of(x); });
}
std::vector<Tensor> sign(const Call& call) {
  return map_numbers(call, []<typename T>(T x) { return x > T{0} ? T{1} : x == T{0} || not_a_number(x) ? x : static_cast<T>(-1); });
}
std::vector<Tensor> square_root(const Call& call) {
  return map_floats(call, [](auto x) { return std::sqrt(x); });
}
std::vector<Tensor> reciprocal(const Call& call) {
  return map_floats(call, [](auto x) { return 1 / x; });
}
std::vector<Tensor> floor_of(const Call& call) {
  return map_floats(call, [](auto x) { return std::floor(x); });
}
std::vector<Tensor> ceil_of(const Call& call) {
  return map_floats(call, [](auto x) { return std::ceil(x); });
}
std::vector<Tensor> round_of(const Call& call) {  // halves to even
  return map_floats(call, [](auto x) { return std::nearbyint(x); });
}

std::vector<Tensor> logical_not(const Call& call) {
  call.expect(call.input(0), DataType::boolean);
  return {map_elements<uint8_t, uint8_t>(call.input(0), DataType::boolean, 1, [](uint8_t x) { return static_cast<uint8_t>(x == 0); })};
}

std::vector<Tensor> bitwise_not(const Call& call) {
  const Tensor& x = call.input(0);
  return with_integer(call, x.type, [&]<typename T>(T) {
    return std::vector{map_elements<T, T>(x, x.type, 1, [](T value) { return static_cast<T>(~value); })};
  });
}

template <typename F>
std::vector<Tensor> test_floats(const Call& call, F function) {
  const Tensor& x = call.input(0);
  return with_float(call, x.type, [&]<typename T>(T) { return std::vector{map_elements<T, uint8_t>(x, DataType::boolean, 1, function)}; });
}

std::vector<Tensor> is_nan(const Call& call) {
  return test_floats(call, [](auto x) -> uint8_t { return std::isnan(x); });
}

std::vector<Tensor> is_infinite(const Call& call) {
  const bool positive = call.int_of("detect_positive", 1) != 0, negative = call.int_of("detect_negative", 1) != 0;
  return test_floats(call, [=](auto x) -> uint8_t { return std::isinf(x) && (x > 0 ? positive : negative); });
}

const bool registered[] = {
    add_operator("Abs", widened<absolute>),
    add_operator("Acos", widened<map_library<std::acos>>),
    add_operator("Acosh", widened<map_library<std::acosh>>),
    add_operator("Asin", widened<map_library<std::asin>>),
    add_operator("Asinh", widened<map_library<std::asinh>>),
    add_operator("Atan", widened<map_library<std::atan>>),
    add_operator("Atanh", widened<map_library<std::atanh>>),
    add_operator("BitwiseNot", bitwise_not),
    add_operator("Ceil", widened<ceil_of>),
    add_operator("Cos", widened<map_library<std::cos>>),
    add_operator("Cosh", widened<map_library<std::cosh>>),
    add_operator("Erf", widened<map_library<std::erf>>),
    add_operator("Exp", widened<map_library<std::exp>>),
    add_operator("Floor", widened<floor_of>),
    add_operator("IsInf", widened<is_infinite>),
    add_operator("IsNaN", widened<is_nan>),
    add_operator("Log", widened<map_library<std::log>>),
    add_operator("Neg", widened<negate>),
    add_operator("Not", logical_not),
    add_operator("Reciprocal", widened<reciprocal>),
    add_operator("Round", widened<round_of>),
    add_operator("Sign", widened<sign>),
    add_operator("Sin", widened<map_library<std::sin>>),
    add_operator("Sinh", widened<map_library<std::sinh>>),
    add_operator("Sqrt", widened<square_root>),
    add_operator("Tan", widened<map_library<std::tan>>),
};

}  // namespace

}  // namespace deepgap
