// The range that a Slice takes of one axis: for shape inference, the evaluator and engines alike.
#pragma once

#include <cstdint>

namespace deepgap {

struct SliceRange {
  int64_t begin = 0, step = 1, count = 0;  // the first element, from one to the next, how many; `step` is 1 where there are not two
};

// Resolves a slice of an axis with `size` elements. Negative starts and ends count from the end. Positions beyond the axis are clamped, a
// start with a negative step to the first element (as ONNX says and ONNX Runtime does; Python takes nothing). `step` is not 0.
SliceRange slice_range(int64_t size, int64_t start, int64_t end, int64_t step);

}  // namespace deepgap
