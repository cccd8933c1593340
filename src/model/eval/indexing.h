// Where the elements lie that a tensor of indices names. Negative indices count from the end; one outside of the data is Error{input}.
#pragma once

#include "model/eval/operator.h"

#include <cstdint>
#include <vector>

namespace deepgap {

int64_t index_within(const Call& call, int64_t index, int64_t size);

// For each element of input `indices`: the position, in elements, that it has in `data` when its own index along `axis` is replaced by its
// value. As GatherElements and ScatterElements count.
std::vector<int64_t> element_offsets(const Call& call, const Shape& data, size_t indices, size_t axis);

// For each tuple along the last axis of input `indices`: the position, in elements, of the first element of the slice of `data` that it
// names, after `batch_dims` leading axes that both share. As GatherND and ScatterND count.
struct SliceOffsets {
  std::vector<int64_t> offsets;
  int64_t elements = 1;  // elements of one slice
  Shape shape;           // shape of the slices together
};
SliceOffsets slice_offsets(const Call& call, const Shape& data, size_t indices, int64_t batch_dims);

}  // namespace deepgap
