// A window over the dimensions after batch and channels: what convolutions and pools share.
#pragma once

#include "backends/tensorflow/tf_operator.h"

#include <cstdint>
#include <vector>

namespace deepgap {

struct TfWindow {
  std::vector<int64_t> kernel, strides, dilations, begins, ends;  // pads as given, or as auto_pad makes them
  std::vector<int64_t> in, out;
  bool widened = false;  // one dimension, seen as the columns of an image of one row

  size_t rank() const { return kernel.size(); }
  int64_t extent(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

// Returns whether its pads are those that TensorFlow's padding SAME has.
bool pads_as_same(const TfWindow& w);

// Reads the window of a node whose output's shape is inferred. One dimension is widened to two. Refuses other than one to three.
TfWindow tf_window(const TfCall& call, const std::vector<int64_t>& kernel);

}  // namespace deepgap
