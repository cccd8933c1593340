// Operators whose output is made of sizes and positions: Range, EyeLike, OneHot, Size.
#include "model/eval/operator.h"
#include "model/eval/widened.h"
#include "model/onnx_types.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace deepgap {
namespace {

std::vector<Tensor> size_of(const Call& call) {
  Tensor size = make_tensor(DataType::i64, {});
  writable<int64_t>(size)[0] = product_of(call.input(0).shape);
  return {size};
}

template <typename T>
T scalar(const Call& call, size_t input) {
  const Tensor& tensor = call.input(input);
  if (product_of(tensor.shape) != 1) call.fail(fmt::format("input {} is not one number", input));
  return tensor.as<T>()[0];
}

// Returns how many steps lead from `start` up to, and not including, `limit`.
int64_t steps_between(double start, double limit, double delta) {
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil((limit - start) / delta)));
}
int64_t steps_between(int64_t start, int64_t limit, int64_t delta) {
  // In 128 bits: the difference of two 64-bit numbers may not fit into one.
  const __int128 difference = static_cast<__int128>(limit) - start, step = delta;
  return static_cast<int64_t>(std::max<__int128>(0, (difference + step - (step > 0 ? 1 : -1)) / step));
}

double number_after(double start, int64_t steps, double delta) { return start + static_cast<double>(steps) * delta; }
// Modulo 2^64: the product alone may not fit where the number does.
int64_t number_after(int64_t start, int64_t steps, int64_t delta) {
  return static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(steps) * static_cast<uint64_t>(delta));
}

template <typename T>
std::vector<Tensor> range_of(const Call& call) {
  using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  const Wide start = scalar<T>(call, 0), limit = scalar<T>(call, 1), delta = scalar<T>(call, 2);
  if (delta == 0) call.fail("its step is 0");
  const int64_t count = steps_between(start, limit, delta);
  if (count > (int64_t{1} << 40)) call.fail("it has more than 2^40 elements");
  Tensor y = make_tensor(call.input(0).type, {count});
  for (int64_t i = 0; i < count; ++i) writable<T>(y)[static_cast<size_t>(i)] = static_cast<T>(number_after(start, i, delta));
  return {y};
}

std::vector<Tensor> range(const Call& call) {
  for (size_t i = 1; i < 3; ++i)
    if (call.input(i).type != call.input(0).type) call.fail("its inputs are of different types");
  switch (call.input(0).type) {
    case DataType::f32:
      return range_of<float>(call);
    case DataType::f64:
      return range_of<double>(call);
    case DataType::i16:
      return range_of<int16_t>(call);
    case DataType::i32:
      return range_of<int32_t>(call);
    case DataType::i64:
      return range_of<int64_t>(call);
    default:
      call.refuse(fmt::format("{} is not handled here", name_of(call.input(0).type)));
  }
}

// The bytes of the number 1; every type's first bytes are the lowest ones.
uint64_t bits_of_one(DataType type) {
  switch (type) {
    case DataType::f32:
      return 0x3f800000;
    case DataType::f64:
      return 0x3ff0000000000000;
    case DataType::f16:
      return 0x3c00;
    case DataType::bf16:
      return 0x3f80;
    default:
      return 1;
  }
}

std::vector<Tensor> eye_like(const Call& call) {
  const Tensor& x = call.input(0);
  if (x.shape.size() != 2) call.fail(fmt::format("its input has {} dimensions", x.shape.size()));
  const auto asked = data_type_of(call.int_of("dtype", onnx_type_of(x.type)));
  if (!asked) call.refuse("its dtype is not handled here");
  Tensor y = make_tensor(*asked, x.shape);
  std::byte* to = writable<std::byte>(y).data();
  std::memset(to, 0, y.bytes());
  const uint64_t one = bits_of_one(*asked);
  const size_t size = byte_size(*asked);
  const int64_t k = call.int_of("k", 0);
  for (int64_t row = 0; row < x.shape[0]; ++row) {
    if (k < -row || k >= x.shape[1] - row) continue;
    std::memcpy(to + static_cast<size_t>(row * x.shape[1] + row + k) * size, &one, size);
  }
  return {y};
}

// Whole numbers of any type that occurs as indices: exporters from TensorFlow write floats.
std::vector<int64_t> whole_numbers(const Call& call, size_t input) {
  const Tensor& tensor = call.input(input);
  if (tensor.type != DataType::f32) return call.integers(input);
  std::vector<int64_t> numbers;
  for (const float value : tensor.as<float>()) {
    if (!(std::abs(value) < 0x1p62f)) call.fail(fmt::format("input {} holds {}", input, value));
    numbers.push_back(static_cast<int64_t>(value));
  }
  return numbers;
}

// values[1] where the new axis has the index' place, values[0] elsewhere; an index outside of the depth has no place.
std::vector<Tensor> one_hot(const Call& call) {
  const Tensor& values = call.input(2);
  const auto depths = whole_numbers(call, 1);
  if (depths.size() != 1 || depths[0] < 0) call.fail("its depth is not one positive number");
  if (values.shape != Shape{2}) call.fail("its values are not two");
  const int64_t depth = depths[0];
  Shape shape = call.input(0).shape;
  const int64_t axis = call.axis(call.int_of("axis", -1), shape.size() + 1);
  const int64_t inner = product_of(std::span<const int64_t>(shape).subspan(static_cast<size_t>(axis)));
  shape.insert(shape.begin() + axis, depth);
  call.expect_possible(shape);
  Tensor y = make_tensor(values.type, shape);
  const size_t size = byte_size(values.type);
  std::byte* to = writable<std::byte>(y).data();
  for (size_t i = 0; i < y.bytes(); i += size) std::memcpy(to + i, values.data.get(), size);
  const auto indices = whole_numbers(call, 0);
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t place = indices[i] < 0 ? indices[i] + depth : indices[i];
    if (place < 0 || place >= depth) continue;
    const int64_t outer = static_cast<int64_t>(i) / inner, rest = static_cast<int64_t>(i) % inner;
    std::memcpy(to + static_cast<size_t>((outer * depth + place) * inner + rest) * size, values.data.get() + size, size);
  }
  return {y};
}

const bool registered[] = {
    add_operator("EyeLike", eye_like),
    add_operator("OneHot", one_hot),
    add_operator("Range", widened<range>),
    add_operator("Size", size_of),
};

}  // namespace
}  // namespace deepgap
