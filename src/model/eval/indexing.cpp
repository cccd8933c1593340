#include "model/eval/indexing.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

int64_t index_within(const Call& call, int64_t index, int64_t size) {
  if (index < -size || index >= size) call.fail(fmt::format("index {} is outside of an axis of {}", index, size));
  return index < 0 ? index + size : index;
}

std::vector<int64_t> element_offsets(const Call& call, const Shape& data, size_t indices, size_t axis) {
  const Shape& shape = call.input(indices).shape;
  if (shape.size() != data.size()) call.fail("data and indices differ in rank");
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != axis && shape[d] > data[d]) call.fail(fmt::format("there are more indices than data along axis {}", d));
  const auto strides = row_major_strides(data);
  std::vector<int64_t> offsets = call.integers(indices);
  for (size_t i = 0; i < offsets.size(); ++i) {
    int64_t offset = index_within(call, offsets[i], data[axis]) * strides[axis];
    auto rest = static_cast<int64_t>(i);
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      if (d != axis) offset += rest % shape[d] * strides[d];
    offsets[i] = offset;
  }
  return offsets;
}

SliceOffsets slice_offsets(const Call& call, const Shape& data, size_t indices, int64_t batch_dims) {
  const Shape& shape = call.input(indices).shape;
  if (shape.empty()) call.fail("the indices are a scalar");
  const auto batch = static_cast<size_t>(batch_dims), depth = static_cast<size_t>(shape.back());
  if (batch_dims < 0 || batch >= shape.size() || batch + depth > data.size()) call.fail("its indices are deeper than its data");
  if (!std::equal(data.begin(), data.begin() + batch_dims, shape.begin())) call.fail("data and indices differ in their batch");
  const std::span<const int64_t> tuples(shape), sizes(data);
  SliceOffsets slices{{}, product_of(sizes.subspan(batch + depth)), Shape(shape.begin(), shape.end() - 1)};
  slices.shape.insert(slices.shape.end(), data.begin() + static_cast<int64_t>(batch + depth), data.end());
  const auto strides = row_major_strides(data);
  const auto values = call.integers(indices);
  const int64_t batch_elements = product_of(sizes.subspan(batch));
  const int64_t tuples_per_batch = product_of(tuples.first(tuples.size() - 1).subspan(batch));
  const int64_t count = product_of(tuples.first(tuples.size() - 1));
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = i / tuples_per_batch * batch_elements;
    for (size_t k = 0; k < depth; ++k)
      offset += index_within(call, values[static_cast<size_t>(i) * depth + k], data[batch + k]) * strides[batch + k];
    slices.offsets.push_back(offset);
  }
  return slices;
}

}  // namespace deepgap
