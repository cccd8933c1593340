#include "model/eval/strided.h"

#include "model/eval/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {

namespace {

struct StridedAxis {
  int64_t size, from, to;  // steps in elements
};

// The axes of a copy. Neighbours that lie one after the other in both layouts are one axis, and axes of one element are none.
std::vector<StridedAxis> axes_of(std::span<const int64_t> shape, const StridedSource& from, const StridedTarget& to) {
  std::vector<StridedAxis> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    const StridedAxis axis{shape[d], from.strides[d], to.strides[d]};
    if (axis.size == 1) continue;
    if (!axes.empty() && axes.back().from == axis.from * axis.size && axes.back().to == axis.to * axis.size)
      axes.back() = {axes.back().size * axis.size, axis.from, axis.to};
    else
      axes.push_back(axis);
  }
  return axes;
}

// Where rows lie side by side in the source, their elements of one column share a cache line: they are copied together.
template <typename T>
void copy_rows(const StridedAxis& rows, const StridedAxis& columns, const T* from, T* to) {
  if (rows.from == 1 && columns.from != 1) {
    for (int64_t c = 0; c < columns.size; ++c)
      for (int64_t r = 0; r < rows.size; ++r) to[r * rows.to + c * columns.to] = from[r + c * columns.from];
    return;
  }
  for (int64_t r = 0; r < rows.size; ++r, from += rows.from, to += rows.to) {
    if (columns.from == 1 && columns.to == 1)
      std::memcpy(to, from, static_cast<size_t>(columns.size) * sizeof(T));
    else
      for (int64_t c = 0; c < columns.size; ++c) to[c * columns.to] = from[c * columns.from];
  }
}

// A cache line of 4-byte elements, and more where columns are few.
int64_t rows_at_a_time(int64_t columns) { return std::max<int64_t>(16, 4096 / columns); }

template <typename T>
void copy_typed(std::span<const int64_t> shape, const StridedSource& from, const StridedTarget& to) {
  if (product_of(shape) == 0) return;
  std::vector<StridedAxis> outer = axes_of(shape, from, to);
  const auto taken_from = [&](StridedAxis otherwise) {
    if (outer.empty()) return otherwise;
    const StridedAxis axis = outer.back();
    outer.pop_back();
    return axis;
  };
  const StridedAxis columns = taken_from({1, 1, 1}), rows = taken_from({1, 0, 0});
  const int64_t most_rows = std::min(rows.size, rows_at_a_time(columns.size)), blocks_a_matrix = (rows.size + most_rows - 1) / most_rows;
  int64_t blocks = blocks_a_matrix;
  for (const StridedAxis& axis : outer) blocks *= axis.size;
  const auto copy_block = [&](int64_t block) {
    const int64_t first = block % blocks_a_matrix * most_rows;
    const T* source = reinterpret_cast<const T*>(from.data) + first * rows.from;
    T* target = reinterpret_cast<T*>(to.data) + first * rows.to;
    int64_t matrix = block / blocks_a_matrix;
    for (auto axis = outer.rbegin(); axis != outer.rend(); matrix /= axis->size, ++axis) {
      source += matrix % axis->size * axis->from;
      target += matrix % axis->size * axis->to;
    }
    copy_rows<T>({std::min(most_rows, rows.size - first), rows.from, rows.to}, columns, source, target);
  };
  parallel_for(blocks, static_cast<double>(most_rows * columns.size), copy_block);
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
