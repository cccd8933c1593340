// Element by element over two or more inputs, with broadcasting.
#include "model/eval/map_elements.h"
#include "model/eval/strided.h"
#include "model/eval/widened.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace deepgap {

namespace {

// Elements of the result one behind another: where they begin in it and in the inputs, and the inputs' steps from one to the next.
struct Run {
  int64_t at_a, a_stride, at_b, b_stride, at_result, count;
};
using VisitRun = std::function<void(const Run&)>;

// Inputs of one shape are cut into equal parts.
void visit_parts(int64_t count, const VisitRun& visit) {
  constexpr int64_t part = 1 << 14;
  parallel_for((count + part - 1) / part, part, [&](int64_t i) {
    visit({i * part, 1, i * part, 1, i * part, std::min(part, count - i * part)});
  });
}

// Others are walked row by row of the result.
void visit_rows(const Shape& a, const Shape& b, const Shape& shape, const VisitRun& visit) {
  const auto a_strides = broadcast_strides(a, shape), b_strides = broadcast_strides(b, shape);
  const int64_t row = shape.back(), count = product_of(shape);
  parallel_for(count == 0 ? 0 : count / row, static_cast<double>(row), [&](int64_t r) {
    int64_t at_a = 0, at_b = 0, rest = r;
    for (size_t d = shape.size() - 1; d-- > 0; rest /= shape[d]) {
      at_a += rest % shape[d] * a_strides[d];
      at_b += rest % shape[d] * b_strides[d];
    }
    visit({at_a, a_strides.back(), at_b, b_strides.back(), r * row, row});
  });
}

template <typename A, typename B, typename R, typename F>
Tensor combine(const Call& call, const Tensor& a, const Tensor& b, DataType result, F function) {
  Tensor out = make_tensor(result, broadcast_shape(call, a.shape, b.shape));
  R* to = reinterpret_cast<R*>(writable<std::byte>(out).data());
  const auto combine_run = [function, to, from_a = a.as<A>().data(), from_b = b.as<B>().data()](const Run& run) {
    const A* x = from_a + run.at_a;
    const B* y = from_b + run.at_b;
    R* r = to + run.at_result;
    if (run.a_stride == 1 && run.b_stride == 1) {
      for (int64_t i = 0; i < run.count; ++i) r[i] = function(x[i], y[i]);
    } else {
      for (int64_t i = 0; i < run.count; ++i) r[i] = function(x[i * run.a_stride], y[i * run.b_stride]);
    }
  };
  a.shape == b.shape ? visit_parts(product_of(out.shape), combine_run) : visit_rows(a.shape, b.shape, out.shape, combine_run);
  return out;
}

void expect_alike(const Call& call, const Tensor& a, const Tensor& b) {
  if (a.type != b.type) call.fail("inputs are of different types");
}

template <typename F>
Tensor arithmetic(const Call& call, const Tensor& a, const Tensor& b, F function) {
  expect_alike(call, a, b);
  return with_number(call, a.type, [&]<typename T>(T) { return combine<T, T, T>(call, a, b, a.type, function); });
}

template <typename F>
Tensor arithmetic_of_all(const Call& call, F function) {
  Tensor result = call.input(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) result = arithmetic(call, result, call.input(i), function);
  return result;
}

constexpr auto sum_of_two = []<typename T>(T a, T b) { return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b)); };

std::vector<Tensor> add(const Call& call) { return {arithmetic(call, call.input(0), call.input(1), sum_of_two)}; }
std::vector<Tensor> subtract(const Call& call) {
  return {arithmetic(call, call.input(0), call.input(1),
                     []<typename T>(T a, T b) { return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b)); })};
}
std::vector<Tensor> multiply_elements(const Call& call) {
  return {arithmetic(call, call.input(0), call.input(1),
                     []<typename T>(T a, T b) { return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b)); })};
}

// The least number over -1 would trap.
template <typename T>
bool is_minus_one(T value) {
  if constexpr (std::is_signed_v<T>) return value == -1;
  return false;
}
// Whole numbers are rounded towards zero.
std::vector<Tensor> divide(const Call& call) {
  const auto divide_numbers = [&call]<typename T>(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) call.fail("division by zero");
      if (is_minus_one(b)) return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(a));
    }
    return static_cast<T>(a / b);
  };
  return {arithmetic(call, call.input(0), call.input(1), divide_numbers)};
}

template <typename T>
T truncated_remainder(T a, T b) {  // has the sign of a
  if constexpr (std::is_floating_point_v<T>)
    return std::fmod(a, b);
  else
    return is_minus_one(b) ? T{0} : static_cast<T>(a % b);
}
template <typename T>
T floored_remainder(T a, T b) {  // has the sign of b, also where it is zero
  const T remainder = truncated_remainder(a, b);
  if constexpr (std::is_floating_point_v<T>)
    if (remainder == 0) return std::copysign(remainder, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? static_cast<T>(remainder + b) : remainder;
}

std::vector<Tensor> modulo(const Call& call) {
  const bool truncates = call.int_of("fmod", 0) != 0;
  return {arithmetic(call, call.input(0), call.input(1), [&]<typename T>(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) call.fail("division by zero");
      return truncates ? truncated_remainder(a, b) : floored_remainder(a, b);
    } else {
      if (truncates) return truncated_remainder(a, b);
      if (call.graph.opset < 28) call.fail("fmod should be 1 for floating-point numbers");
      return floored_remainder(a, b);
    }
  })};
}

std::vector<Tensor> maximum(const Call& call) {  // a NaN on either side stays
  return {arithmetic_of_all(call, [](auto a, auto b) { return a > b || not_a_number(a) ? a : b; })};
}
std::vector<Tensor> minimum(const Call& call) {
  return {arithmetic_of_all(call, [](auto a, auto b) { return a < b || not_a_number(a) ? a : b; })};
}
std::vector<Tensor> sum(const Call& call) { return {arithmetic_of_all(call, sum_of_two)}; }
std::vector<Tensor> mean(const Call& call) {
  const Tensor total = arithmetic_of_all(call, sum_of_two);
  return with_float(call, total.type, [&]<typename T>(T) {
    const auto count = static_cast<T>(call.inputs.size());
    return std::vector{map_elements<T, T>(total, total.type, 1, [count](T x) { return x / count; })};
  });
}

// The exponent may be of another type. Squares are exact; the rest is the C library's in double precision (see eval_unary.cpp).
std::vector<Tensor> power(const Call& call) {
  const Tensor& base = call.input(0);
  const Tensor exponent = converted(call.input(1), DataType::f64);
  return with_number(call, base.type, [&]<typename T>(T) {
    return std::vector{combine<T, double, T>(call, base, exponent, base.type, [](T a, double b) {
      return b == 2 && std::is_floating_point_v<T> ? a * a : convert<T>(std::pow(static_cast<double>(a), b));
    })};
  });
}

std::vector<Tensor> parametric_relu(const Call& call) {
  const Tensor& x = call.input(0);
  const Tensor y = arithmetic(call, x, call.input(1), []<typename T>(T value, T slope) {
    return value < T{0} ? static_cast<T>(static_cast<Wrapping<T>>(value) * static_cast<Wrapping<T>>(slope)) : value;
  });
  if (y.shape != x.shape) call.fail("the slope does not broadcast to the input");
  return {y};
}

template <typename F>
std::vector<Tensor> compare(const Call& call, F function) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  expect_alike(call, a, b);
  if (a.type == DataType::boolean) return {combine<uint8_t, uint8_t, uint8_t>(call, a, b, DataType::boolean, function)};
  return with_number(call, a.type,
                     [&]<typename T>(T) { return std::vector{combine<T, T, uint8_t>(call, a, b, DataType::boolean, function)}; });
}

std::vector<Tensor> equal(const Call& call) {
  return compare(call, [](auto a, auto b) -> uint8_t { return a == b; });
}
std::vector<Tensor> less(const Call& call) {
  return compare(call, [](auto a, auto b) -> uint8_t { return a < b; });
}
std::vector<Tensor> less_or_equal(const Call& call) {
  return compare(call, [](auto a, auto b) -> uint8_t { return a <= b; });
}
std::vector<Tensor> greater(const Call& call) {
  return compare(call, [](auto a, auto b) -> uint8_t { return a > b; });
}
std::vector<Tensor> greater_or_equal(const Call& call) {
  return compare(call, [](auto a, auto b) -> uint8_t { return a >= b; });
}

template <typename F>
std::vector<Tensor> logic(const Call& call, F function) {
  for (size_t i = 0; i < 2; ++i) call.expect(call.input(i), DataType::boolean);
  return {combine<uint8_t, uint8_t, uint8_t>(call, call.input(0), call.input(1), DataType::boolean, function)};
}

std::vector<Tensor> logical_and(const Call& call) {
  return logic(call, [](uint8_t a, uint8_t b) -> uint8_t { return a != 0 && b != 0; });
}
std::vector<Tensor> logical_or(const Call& call) {
  return logic(call, [](uint8_t a, uint8_t b) -> uint8_t { return a != 0 || b != 0; });
}
std::vector<Tensor> logical_xor(const Call& call) {
  return logic(call, [](uint8_t a, uint8_t b) -> uint8_t { return (a != 0) != (b != 0); });
}

template <typename F>
std::vector<Tensor> bitwise(const Call& call, F function) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  expect_alike(call, a, b);
  return with_integer(call, a.type, [&]<typename T>(T) { return std::vector{combine<T, T, T>(call, a, b, a.type, function)}; });
}

std::vector<Tensor> bitwise_and(const Call& call) {
  return bitwise(call, []<typename T>(T a, T b) { return static_cast<T>(a & b); });
}
std::vector<Tensor> bitwise_or(const Call& call) {
  return bitwise(call, []<typename T>(T a, T b) { return static_cast<T>(a | b); });
}
std::vector<Tensor> bitwise_xor(const Call& call) {
  return bitwise(call, []<typename T>(T a, T b) { return static_cast<T>(a ^ b); });
}

// Shifts `a`: where the shift is as wide as the number, or negative, only the sign remains of one that goes right.
template <typename T>
T shifted(T a, T b, bool left) {
  const bool all_gone = b < T{0} || b >= static_cast<T>(8 * sizeof(T));
  if (left) return all_gone ? T{0} : static_cast<T>(static_cast<Wrapping<T>>(a) << b);
  if (all_gone) return a < T{0} ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> b);
}

std::vector<Tensor> bit_shift(const Call& call) {
  const std::string direction = call.text_of("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") call.fail("direction '" + direction + "' should be LEFT or RIGHT");
  const bool left = direction == "LEFT";
  return bitwise(call, [left](auto a, auto b) { return shifted(a, b, left); });
}

const bool registered[] = {
    add_operator("Add", widened<add>),
    add_operator("And", logical_and),
    add_operator("BitShift", bit_shift),
    add_operator("BitwiseAnd", bitwise_and),
    add_operator("BitwiseOr", bitwise_or),
    add_operator("BitwiseXor", bitwise_xor),
    add_operator("Div", widened<divide>),
    add_operator("Equal", widened<equal>),
    add_operator("Greater", widened<greater>),
    add_operator("GreaterOrEqual", widened<greater_or_equal>),
    add_operator("Less", widened<less>),
    add_operator("LessOrEqual", widened<less_or_equal>),
    add_operator("Max", widened<maximum>),
    add_operator("Mean", widened<mean>),
    add_operator("Min", widened<minimum>),
    add_operator("Mod", widened<modulo>),
    add_operator("Mul", widened<multiply_elements>),
    add_operator("Or", logical_or),
    add_operator("PRelu", widened<parametric_relu>),
    add_operator("Pow", widened<power>),
    add_operator("Sub", widened<subtract>),
    add_operator("Sum", widened<sum>),
    add_operator("Xor", logical_xor),
};

}  // namespace

}  // namespace deepgap
