#include "engine/gpu/windows.h"

#include "model/graph_tools.h"

#include <algorithm>

namespace deepgap::gpu {

std::vector<WindowAxis> window_axes(const Node& node, std::span<const int64_t> in, std::span<const int64_t> out,
                                    std::span<const int64_t> kernel) {
  const size_t rank = kernel.size();
  const std::vector<int64_t> ones(rank, 1);
  const auto strides = attribute_ints(node, "strides", ones), dilations = attribute_ints(node, "dilations", ones);
  const auto pads = attribute_ints(node, "pads", std::vector<int64_t>(2 * rank, 0));
  const auto automatic = attribute_string(node, "auto_pad", "NOTSET");
  std::vector<WindowAxis> axes;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis axis{in[i], out[i], kernel[i], strides.at(i), dilations.at(i), pads.at(i), pads.at(rank + i)};
    if (automatic == "VALID") axis.before = axis.after = 0;
    if (automatic.starts_with("SAME")) {
      const int64_t total = std::max<int64_t>((axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 - axis.in, 0);
      axis.before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      axis.after = total - axis.before;
    }
    axes.push_back(axis);
  }
  return axes;
}

Convolution convolution_sizes(const Node& node, const Shape& in, const Shape& out, const Shape& weights) {
  const auto axes = window_axes(node, std::span(in).subspan(2), std::span(out).subspan(2), std::span(weights).subspan(2));
  const WindowAxis rows = axes.size() == 2 ? axes[0] : WindowAxis{}, columns = axes.back();
  Convolution problem;
  problem.batch = in[0];
  problem.groups = attribute_int(node, "group", 1);
  problem.in_channels = in[1];
  problem.out_channels = out[1];
  problem.in_h = rows.in, problem.in_w = columns.in, problem.out_h = rows.out, problem.out_w = columns.out;
  problem.kernel_h = rows.kernel, problem.kernel_w = columns.kernel;
  problem.stride_h = rows.stride, problem.stride_w = columns.stride;
  problem.dilation_h = rows.dilation, problem.dilation_w = columns.dilation;
  problem.pad_top = rows.before, problem.pad_left = columns.before;
  return problem;
}

}  // namespace deepgap::gpu
