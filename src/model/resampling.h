// How Resize and Upsample find the elements of the result among those of the input, axis by axis: the evaluator computes by it, and
// engines use it where a kernel of theirs does something else, or ask it whether that kernel does the same. Source: ONNX's Resize-10 to
// -19 and Upsample-7, -9; positions in float32, as ONNX Runtime computes them: one that lies between two neighbours falls on the same.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace deepgap {

struct ResizedAxis {
  size_t axis = 0;
  int64_t in = 0, out = 0;
  float scale = 1;                     // as given, not out / in
  float crop_begin = 0, crop_end = 1;  // for tf_crop_and_resize, as fractions of the axis
};

struct Resizing {
  std::string mode;          // nearest, linear, cubic
  std::string coordinates;   // ONNX's coordinate_transformation_mode
  std::string nearest_mode;  // "simple": before opset 11, down where the axis grows and up where it shrinks
  float cubic_coefficient = -0.75f;
  bool exclude_outside = false;
  float extrapolation_value = 0;
  bool antialias = false;         // where an axis shrinks, linear and cubic kernels are as much wider
  std::vector<ResizedAxis> axes;  // those that change
};

// A constant input of the node, or nullptr where it is left out.
using ResizeInput = std::function<const Tensor*(size_t)>;
// Reads a Resize or Upsample node whose input has `shape`. Throws Error{input} for contradictions, naming the node.
Resizing resizing_of(const Node& node, int opset, const Shape& shape, const ResizeInput& input);

// keep_aspect_ratio_policy: one scale for all axes, so that none is larger than asked (not_larger) or none smaller (not_smaller).
struct KeptAspect {
  float scale = 1;
  std::vector<int64_t> sizes;
};
KeptAspect keep_aspect(const std::vector<int64_t>& in, const std::vector<int64_t>& asked, bool not_larger);
// The size that an axis gets by a scale; INT64_MAX where that is more.
int64_t scaled_size(int64_t in, float scale);

// Element i of the resized axis is the sum over t of weights[t][i] times element positions[t][i] of the axis.
struct Taps {
  std::vector<std::vector<int64_t>> positions;  // nearest: one tap; linear: two; cubic: four; with antialias more
  std::vector<std::vector<float>> weights;      // as many; none for nearest, which copies
  std::vector<bool> outside;                    // where tf_crop_and_resize leaves the axis: extrapolation_value; empty: nowhere
};
Taps taps_of(const Resizing& resizing, const ResizedAxis& axis);

}  // namespace deepgap
