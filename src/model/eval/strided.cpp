#include "model/eval/strided.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {

namespace {

template <typename T>
void copy_inner(int64_t count, const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride) {
  const T* source = reinterpret_cast<const T*>(from);
  T* target = reinterpret_cast<T*>(to);
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(target, source, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) target[i * to_stride] = source[i * from_stride];
}

template <typename T>
void copy_typed(std::span<const int64_t> shape, const StridedSource& from, const StridedTarget& to) {
  const size_t rank = shape.size();
  if (rank == 0) return copy_inner<T>(1, from.data, 1, to.data, 1);
  if (product_of(shape) == 0) return;
  std::vector<int64_t> index(rank, 0);
  int64_t source = 0, target = 0;
  for (;;) {
    copy_inner<T>(shape[rank - 1], from.data + source * static_cast<int64_t>(sizeof(T)), from.strides[rank - 1],
                  to.data + target * static_cast<int64_t>(sizeof(T)), to.strides[rank - 1]);
    size_t d = rank - 1;
    for (; d > 0; --d) {
      source += from.strides[d - 1], target += to.strides[d - 1];
      if (++index[d - 1] < shape[d - 1]) break;
      source -= from.strides[d - 1] * shape[d - 1], target -= to.strides[d - 1] * shape[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace

void copy_strided(std::span<const int64_t> shape, size_t element_bytes, const StridedSource& from, const StridedTarget& to) {
  switch (element_bytes) {
    case 1:
      return copy_typed<uint8_t>(shape, from, to);
    case 2:
      return copy_typed<uint16_t>(shape, from, to);
    case 4:
      return copy_typed<uint32_t>(shape, from, to);
    default:
      return copy_typed<uint64_t>(shape, from, to);
  }
}

Shape broadcast_shape(const Call& call, const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) call.fail(fmt::format("shapes do not broadcast: {} meets {}", x, y));
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

std::vector<int64_t> broadcast_strides(const Shape& shape, const Shape& target) {
  const std::vector<int64_t> own = row_major_strides(shape);
  std::vector<int64_t> strides(target.size(), 0);
  const size_t lead = target.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) strides[lead + i] = shape[i] == 1 ? 0 : own[i];
  return strides;
}

}  // namespace deepgap
