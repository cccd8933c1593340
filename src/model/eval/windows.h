// The geometry of convolution and pooling windows in two dimensions, from a node's attributes.
#pragma once

#include "model/eval/operator.h"

namespace deepgap {

// One direction: window o covers input positions o * stride - pad_begin + i * dilation, i < kernel.
struct WindowAxis {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  int64_t start(int64_t window) const { return window * stride - pad_begin; }
  // Windows [first, last) whose element `tap` lies inside the input.
  std::pair<int64_t, int64_t> inside(int64_t tap) const;
};

struct Windows {
  int64_t batch = 0, channels = 0;
  WindowAxis rows, columns;
};

// Reads kernel_shape (or `kernel`, the weight's), strides, dilations, pads, auto_pad, ceil_mode. A 1-D input [N,C,W] is seen as [N,C,1,W].
// Throws Error{refused} for three dimensions and more, Error{input} for sizes that contradict each other.
Windows windows_of(const Call& call, const Tensor& x, std::vector<int64_t> kernel);
Shape window_shape(const Tensor& x, const Windows& windows, int64_t channels);  // of the result, with x's rank

}  // namespace deepgap
