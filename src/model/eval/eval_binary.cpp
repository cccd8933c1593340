// Element by element over two or more inputs, with broadcasting.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/strided.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace deepgap {

namespace {

template <typename T, typename R, typename F>
void combine_rows(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t count, R* out, F function) {
  if (a_stride == 1 && b_stride == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = function(a[i], b[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = function(a[i * a_stride], b[i * b_stride]);
  }
}

// Inputs of one shape are cut into equal parts.
template <typename T, typename R, typename F>
void combine_alike(const T* a, const T* b, int64_t count, R* out, F function) {
  constexpr int64_t part = 1 << 14;
  parallel_for((count + part - 1) / part, part, [&](int64_t i) {
    combine_rows(a + i * part, 1, b + i * part, 1, std::min(part, count - i * part), out + i * part, function);
  });
}

// Others are walked row by row of the result.
template <typename T, typename R, typename F>
Tensor combine(const Call& call, const Tensor& a, const Tensor& b, DataType result, F function) {
  Tensor out = make_tensor(result, broadcast_shape(call, a.shape, b.shape));
  const T* from_a = a.as<T>().data();
  const T* from_b = b.as<T>().data();
  R* to = reinterpret_cast<R*>(writable<std::byte>(out).data());
  const int64_t count = product_of(out.shape);
  if (a.shape == b.shape) {
    combine_alike(from_a, from_b, count, to, function);
    return out;
  }
  const Shape& shape = out.shape;
  const auto a_strides = broadcast_strides(a.shape, shape), b_strides = broadcast_strides(b.shape, shape);
  const int64_t row = shape.back();
  parallel_for(count == 0 ? 0 : count / row, static_cast<double>(row), [&](int64_t r) {
    int64_t at_a = 0, at_b = 0, rest = r;
    for (size_t d = shape.size() - 1; d-- > 0; rest /= shape[d]) {
      at_a += rest % shape[d] * a_strides[d];
      at_b += rest % shape[d] * b_strides[d];
    }
    combine_rows(from_a + at_a, a_strides.back(), from_b + at_b, b_strides.back(), row, to + r * row, function);
  });
  return out;
}

void expect_alike(const Call& call, const Tensor& a, const Tensor& b) {
  if (a.type != b.type) call.fail("inputs are of different types");
}

template <typename F>
Tensor arithmetic(const Call& call, const Tensor& a, const Tensor& b, F function) {
  expect_alike(call, a, b);
  if (a.type == DataType::i64) return combine<int64_t, int64_t>(call, a, b, a.type, function);
  if (a.type == DataType::i32) return combine<int32_t, int32_t>(call, a, b, a.type, function);
  call.expect(a, DataType::f32);
  return combine<float, float>(call, a, b, a.type, function);
}

template <typename F>
std::vector<Tensor> arithmetic_of_all(const Call& call, F function) {
  Tensor result = call.input(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) result = arithmetic(call, result, call.input(i), function);
  return {result};
}

// Whole numbers wrap around as they do in every engine.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>;

std::vector<Tensor> add(const Call& call) {
  return arithmetic_of_all(call, [](auto a, auto b) {
    using W = typename Wrapping<decltype(a)>::type;
    return static_cast<decltype(a)>(static_cast<W>(a) + static_cast<W>(b));
  });
}
std::vector<Tensor> subtract(const Call& call) {
  return {arithmetic(call, call.input(0), call.input(1), [](auto a, auto b) {
    using W = typename Wrapping<decltype(a)>::type;
    return static_cast<decltype(a)>(static_cast<W>(a) - static_cast<W>(b));
  })};
}
std::vector<Tensor> multiply_elements(const Call& call) {
  return {arithmetic(call, call.input(0), call.input(1), [](auto a, auto b) {
    using W = typename Wrapping<decltype(a)>::type;
    return static_cast<decltype(a)>(static_cast<W>(a) * static_cast<W>(b));
  })};
}
std::vector<Tensor> divide(const Call& call) {
  const auto divide_numbers = [&call](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(b)>) {
      if (b == 0) call.fail("division by zero");
      if (b == -1) return static_cast<decltype(a)>(0 - static_cast<std::make_unsigned_t<decltype(a)>>(a));
    }
    return static_cast<decltype(a)>(a / b);
  };
  return {arithmetic(call, call.input(0), call.input(1), divide_numbers)};
}
template <typename T>
bool not_a_number(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}
std::vector<Tensor> maximum(const Call& call) {  // a NaN on either side stays
  return arithmetic_of_all(call, [](auto a, auto b) { return a > b || not_a_number(a) ? a : b; });
}
std::vector<Tensor> minimum(const Call& call) {
  return arithmetic_of_all(call, [](auto a, auto b) { return a < b || not_a_number(a) ? a : b; });
}

Tensor as_float(const Call& call, const Tensor& x) {
  if (x.type == DataType::f32) return x;
  Tensor y = make_tensor(DataType::f32, x.shape);
  const auto to = writable<float>(y);
  if (x.type == DataType::i64) {
    std::copy(x.as<int64_t>().begin(), x.as<int64_t>().end(), to.begin());
  } else if (x.type == DataType::i32) {
    std::copy(x.as<int32_t>().begin(), x.as<int32_t>().end(), to.begin());
  } else {
    call.expect(x, DataType::f32);
  }
  return y;
}

// The exponent may be of another type. Squares are exact; the rest is the C library's in double precision (see eval_unary.cpp).
std::vector<Tensor> power(const Call& call) {
  call.expect(call.input(0), DataType::f32);
  const Tensor exponent = as_float(call, call.input(1));
  return {combine<float, float>(call, call.input(0), exponent, DataType::f32, [](float a, float b) {
    return b == 2.0f ? a * a : static_cast<float>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  })};
}

template <typename F>
std::vector<Tensor> compare(const Call& call, F function) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  expect_alike(call, a, b);
  if (a.type == DataType::i64) return {combine<int64_t, uint8_t>(call, a, b, DataType::boolean, function)};
  if (a.type == DataType::i32) return {combine<int32_t, uint8_t>(call, a, b, DataType::boolean, function)};
  if (a.type == DataType::boolean) return {combine<uint8_t, uint8_t>(call, a, b, DataType::boolean, function)};
  call.expect(a, DataType::f32);
  return {combine<float, uint8_t>(call, a, b, DataType::boolean, function)};
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
std::vector<Tensor> logical_and(const Call& call) {
  return compare(call, [](auto a, auto b) -> uint8_t { return a != 0 && b != 0; });
}
std::vector<Tensor> logical_or(const Call& call) {
  return compare(call, [](auto a, auto b) -> uint8_t { return a != 0 || b != 0; });
}

const bool registered[] = {
    add_operator("Add", add),
    add_operator("And", logical_and),
    add_operator("Div", divide),
    add_operator("Equal", equal),
    add_operator("Greater", greater),
    add_operator("GreaterOrEqual", greater_or_equal),
    add_operator("Less", less),
    add_operator("LessOrEqual", less_or_equal),
    add_operator("Max", maximum),
    add_operator("Min", minimum),
    add_operator("Mul", multiply_elements),
    add_operator("Or", logical_or),
    add_operator("Pow", power),
    add_operator("Sub", subtract),
    add_operator("Sum", add),
};

}  // namespace

}  // namespace deepgap
