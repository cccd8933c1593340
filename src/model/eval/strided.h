// Moves elements between two layouts of one shape: transposing, slicing, expanding and padding are all this.
#pragma once

#include "model/eval/operator.h"

#include <cstddef>

namespace deepgap {

// A position in memory with a step, in elements, for each direction of a shape. A step of 0 repeats; a negative one walks backwards.
struct StridedSource {
  const std::byte* data;
  std::vector<int64_t> strides;
};
struct StridedTarget {
  std::byte* data;
  std::vector<int64_t> strides;
};
void copy_strided(std::span<const int64_t> shape, size_t element_bytes, const StridedSource& from, const StridedTarget& to);

// NumPy's broadcasting. The strides of `shape` seen as `target`: 0 where a size of 1 is repeated.
Shape broadcast_shape(const Call& call, const Shape& a, const Shape& b);
std::vector<int64_t> broadcast_strides(const Shape& shape, const Shape& target);

}  // namespace deepgap
