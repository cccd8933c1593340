#include "engine/cpu/operators.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/core.h>

#include <algorithm>

namespace deepgap {

Windows windows_of(const Node& node, std::span<const int64_t> input, std::span<const int64_t> output, std::span<const int64_t> kernel) {
  const size_t rank = kernel.size();
  Windows result{.kernel = {kernel.begin(), kernel.end()}};
  const auto ones = std::vector<int64_t>(rank, 1);
  result.strides = attribute_ints(node, "strides", ones);
  result.dilations = attribute_ints(node, "dilations", ones);
  const auto pads = attribute_ints(node, "pads", std::vector<int64_t>(2 * rank, 0));
  const auto automatic = attribute_string(node, "auto_pad", "NOTSET");
  if (result.strides.size() != rank || result.dilations.size() != rank || pads.size() != 2 * rank || input.size() != rank + 2)
    throw Error(ErrorKind::input, fmt::format("node {}: strides, dilations or pads do not fit its {} spatial dimensions", node.name, rank));
  for (size_t i = 0; i < rank; ++i) {
    --result.dilations[i];
    const int64_t extent = (kernel[i] - 1) * (result.dilations[i] + 1) + 1;
    // The length that the last window reaches past the input, given the output's size.
    const int64_t reach = (output[i + 2] - 1) * result.strides[i] + extent - input[i + 2];
    int64_t before = pads[i], after = pads[rank + i];
    if (automatic == "VALID") before = after = 0;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const int64_t total = std::max<int64_t>(reach, 0);
      before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
    }
    result.before.push_back(before);
    result.after.push_back(std::max(after, reach - before));  // ceil_mode lets the last window overhang
  }
  return result;
}

}  // namespace deepgap
