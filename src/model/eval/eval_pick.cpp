// Operators that pick elements by indices, or return where elements are, for any element type.
#include "model/eval/indexing.h"
#include "model/eval/operator.h"
#include "model/eval/rearrange.h"

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

std::vector<Tensor> gather(const Call& call) {
  const Tensor& x = call.input(0);
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", 0), x.shape.size()));
  std::vector<int64_t> indices = call.integers(1);
  for (int64_t& index : indices) index = index_within(call, index, x.shape[axis]);
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<int64_t>(axis));
  shape.insert(shape.end(), call.input(1).shape.begin(), call.input(1).shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<int64_t>(axis) + 1, x.shape.end());
  return {copy_with_shape(take(x, axis, indices), shape)};
}

// Slices of `elements` elements, one after the other.
Tensor gathered(const Tensor& x, std::span<const int64_t> offsets, int64_t elements, const Shape& shape) {
  Tensor y = make_tensor(x.type, shape);
  const auto size = static_cast<int64_t>(byte_size(x.type));
  std::byte* to = writable<std::byte>(y).data();
  for (const int64_t offset : offsets) {
    std::memcpy(to, x.data.get() + offset * size, static_cast<size_t>(elements * size));
    to += elements * size;
  }
  return y;
}

std::vector<Tensor> gather_elements(const Call& call) {
  const Tensor& x = call.input(0);
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", 0), x.shape.size()));
  return {gathered(x, element_offsets(call, x.shape, 1, axis), 1, call.input(1).shape)};
}

std::vector<Tensor> gather_nd(const Call& call) {
  const Tensor& x = call.input(0);
  const SliceOffsets slices = slice_offsets(call, x.shape, 1, call.int_of("batch_dims", 0));
  return {gathered(x, slices.offsets, slices.elements, slices.shape)};
}

// One row of positions for each axis; a scalar is taken for a list of one.
std::vector<Tensor> non_zero(const Call& call) {
  const Tensor& x = call.input(0);
  const Shape shape = x.shape.empty() ? Shape{1} : x.shape;
  const size_t size = byte_size(x.type);
  const bool has_sign = x.type == DataType::f32 || x.type == DataType::f64 || x.type == DataType::f16 || x.type == DataType::bf16;
  const auto is_zero = [&](int64_t i) {
    const std::byte* bytes = x.data.get() + i * static_cast<int64_t>(size);
    for (size_t k = 0; k + 1 < size; ++k)
      if (bytes[k] != std::byte{0}) return false;
    const std::byte last = has_sign ? bytes[size - 1] & std::byte{0x7f} : bytes[size - 1];  // -0 is zero
    return last == std::byte{0};
  };
  std::vector<int64_t> found;
  for (int64_t i = 0; i < product_of(shape); ++i)
    if (!is_zero(i)) found.push_back(i);
  const auto count = static_cast<int64_t>(found.size());
  Tensor y = make_tensor(DataType::i64, {static_cast<int64_t>(shape.size()), count});
  const auto strides = row_major_strides(shape);
  for (size_t d = 0; d < shape.size(); ++d)
    for (size_t i = 0; i < found.size(); ++i) writable<int64_t>(y)[d * found.size() + i] = found[i] / strides[d] % shape[d];
  return {y};
}

// The upper or lower triangle of the last two axes; the rest is 0.
std::vector<Tensor> trilu(const Call& call) {
  const Tensor& x = call.input(0);
  if (x.shape.size() < 2) call.fail("its input has no rows and columns");
  const bool upper = call.int_of("upper", 1) != 0;
  const int64_t rows = x.shape[x.shape.size() - 2], columns = x.shape.back(), size = static_cast<int64_t>(byte_size(x.type));
  // Beyond the corners every diagonal means the same.
  const int64_t diagonal = call.has(1) ? std::clamp<int64_t>(call.integers(1).at(0), -rows, columns) : 0;
  Tensor y = make_tensor(x.type, x.shape);
  std::byte* to = writable<std::byte>(y).data();
  std::memset(to, 0, y.bytes());
  for (int64_t row = 0; columns > 0 && row < product_of(x.shape) / columns; ++row) {
    const int64_t middle = std::clamp<int64_t>(row % rows + diagonal + (upper ? 0 : 1), 0, columns);
    const int64_t begin = upper ? middle : 0, end = upper ? columns : middle;
    const int64_t at = (row * columns + begin) * size;
    std::memcpy(to + at, x.data.get() + at, static_cast<size_t>((end - begin) * size));
  }
  return {y};
}

const bool registered[] = {
    add_operator("Gather", gather),      add_operator("GatherElements", gather_elements),
    add_operator("GatherND", gather_nd), add_operator("NonZero", non_zero),
    add_operator("Trilu", trilu),
};

}  // namespace
}  // namespace deepgap
