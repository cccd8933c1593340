// A tensor seen as lines along one axis, for what looks at the values of an axis together: Softmax, TopK, CumSum.
#pragma once

#include "model/eval/operator.h"

namespace deepgap {

// Line i begins at element begin(i); its `count` values are `stride` elements apart.
struct Lines {
  int64_t outer, count, stride;

  int64_t lines() const { return outer * stride; }
  int64_t begin(int64_t line) const { return line / stride * count * stride + line % stride; }
};

inline Lines lines_along(std::span<const int64_t> shape, int64_t axis) {
  const auto at = static_cast<size_t>(axis);
  return {product_of(shape.first(at)), shape[at], product_of(shape.subspan(at + 1))};
}

}  // namespace deepgap
