// A window over the dimensions after batch and channels: what convolutions and pools share.
#pragma once

#include "backends/tensorflow/tf_operator.h"
#include "model/translated_nodes.h"

#include <cstdint>
#include <vector>

namespace deepgap {

struct TfWindow : NodeWindow {
  bool widened = false;  // one dimension, seen as the columns of an image of one row
};

// Returns whether its pads are those that TensorFlow's padding SAME has.
bool pads_as_same(const TfWindow& w);

// Reads the window of a node whose output's shape is inferred. One dimension is widened to two. Refuses other than one to three.
TfWindow tf_window(const TfCall& call, const std::vector<int64_t>& kernel);

}  // namespace deepgap
