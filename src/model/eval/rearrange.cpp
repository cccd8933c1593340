#include "model/eval/rearrange.h"

#include "model/eval/parallel.h"
#include "model/eval/strided.h"

#include <cstring>

namespace deepgap {
namespace {

template <typename T>
void take_elements(const std::byte* from, std::span<const int64_t> indices, std::byte* to) {
  const T* source = reinterpret_cast<const T*>(from);
  T* target = reinterpret_cast<T*>(to);
  for (size_t i = 0; i < indices.size(); ++i) target[i] = source[indices[i]];
}

void take_slices(const std::byte* from, std::span<const int64_t> indices, int64_t slice_bytes, size_t element_bytes, std::byte* to) {
  // Slices of one element are copied as numbers: the last axis is the one that counts.
  if (slice_bytes == 4 && element_bytes == 4) return take_elements<uint32_t>(from, indices, to);
  if (slice_bytes == 8 && element_bytes == 8) return take_elements<uint64_t>(from, indices, to);
  if (slice_bytes == 2 && element_bytes == 2) return take_elements<uint16_t>(from, indices, to);
  if (slice_bytes == 1) return take_elements<uint8_t>(from, indices, to);
  for (size_t i = 0; i < indices.size(); ++i)
    std::memcpy(to + static_cast<int64_t>(i) * slice_bytes, from + indices[i] * slice_bytes, static_cast<size_t>(slice_bytes));
}

}  // namespace

Tensor take(const Tensor& x, size_t axis, std::span<const int64_t> indices) {
  Shape shape = x.shape;
  shape[axis] = static_cast<int64_t>(indices.size());
  Tensor y = make_tensor(x.type, shape);
  if (y.bytes() == 0) return y;
  const std::span<const int64_t> sizes(x.shape);
  const int64_t slice_bytes = product_of(sizes.subspan(axis + 1)) * static_cast<int64_t>(byte_size(x.type));
  const int64_t from_bytes = sizes[axis] * slice_bytes, to_bytes = shape[axis] * slice_bytes;
  std::byte* to = writable<std::byte>(y).data();
  parallel_for(product_of(sizes.first(axis)), static_cast<double>(to_bytes),
               [&](int64_t i) { take_slices(x.data.get() + i * from_bytes, indices, slice_bytes, byte_size(x.type), to + i * to_bytes); });
  return y;
}

Tensor transposed(const Tensor& x, const Shape& seen, std::span<const int64_t> order) {
  const auto strides = row_major_strides(seen);
  Shape shape;
  std::vector<int64_t> from;
  for (const int64_t axis : order) {
    shape.push_back(seen[static_cast<size_t>(axis)]);
    from.push_back(strides[static_cast<size_t>(axis)]);
  }
  Tensor y = make_tensor(x.type, shape);
  copy_strided(shape, byte_size(x.type), {x.data.get(), from}, {writable<std::byte>(y).data(), row_major_strides(shape)});
  return y;
}

}  // namespace deepgap
