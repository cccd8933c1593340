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

}  // namespace deepgap::gpu
