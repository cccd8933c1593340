// The geometry of convolution and pooling windows in one to three dimensions, from a node's attributes.
#pragma once

#include "model/eval/operator.h"

namespace deepgap {

// One direction: window o covers input positions o * stride - pad_begin + i * dilation, i < kernel.
struct WindowAxis {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  int64_t start(int64_t window) const { return window * stride - pad_begin; }
  // SlidingWindows [first, last) whose element `tap` lies inside the input.
  std::pair<int64_t, int64_t> inside(int64_t tap) const;
};

// [N,C,W] is seen as [N,C,1,1,W], [N,C,H,W] as [N,C,1,H,W].
struct SlidingWindows {
  int64_t batch = 0, channels = 0;
  WindowAxis slices, rows, columns;

  int64_t input_size() const { return slices.input * rows.input * columns.input; }
  int64_t output_size() const { return slices.output * rows.output * columns.output; }
  int64_t taps() const { return slices.kernel * rows.kernel * columns.kernel; }
};

// A position among the outputs of a plane, or of a tap in its window.
struct WindowPlace {
  int64_t slice, row, column;
};
inline WindowPlace output_place(const SlidingWindows& windows, int64_t index) {
  const int64_t line = index / windows.columns.output;
  return {line / windows.rows.output, line % windows.rows.output, index % windows.columns.output};
}
inline WindowPlace tap_place(const SlidingWindows& windows, int64_t tap) {
  const int64_t line = tap / windows.columns.kernel;
  return {line / windows.rows.kernel, line % windows.rows.kernel, tap % windows.columns.kernel};
}

// Reads kernel_shape (or `kernel`, the weight's), strides, dilations, pads, auto_pad, ceil_mode.
// Throws Error{refused} for more than three dimensions, Error{input} for sizes that contradict each other.
SlidingWindows windows_of(const Call& call, const Tensor& x, const std::vector<int64_t>& kernel);
// Returns the windows of a transposed convolution. They slide over its result, one for each of x's positions, so `input` is the result's
// size. Reads output_padding and output_shape, too.
SlidingWindows transposed_windows_of(const Call& call, const Tensor& x, const std::vector<int64_t>& kernel);
Shape window_shape(const Tensor& x, const SlidingWindows& windows, int64_t channels);  // the result's shape, with x's rank

}  // namespace deepgap
