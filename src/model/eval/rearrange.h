// Whole tensors rearranged, whatever their elements are.
#pragma once

#include <deepgap/graph.h>

#include <cstddef>
#include <span>

namespace deepgap {

// Slice i of the result along `axis` is slice indices[i] of `x`: gathering, repeating, reflecting and nearest neighbours are all this. The
// indices are within `x`.
Tensor take(const Tensor& x, size_t axis, std::span<const int64_t> indices);
// `x` seen with the sizes `seen` (as many elements), its axes then put into `order`.
Tensor transposed(const Tensor& x, const Shape& seen, std::span<const int64_t> order);

}  // namespace deepgap
