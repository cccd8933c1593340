// The axes that a node Reduce... names, in whichever form its opset has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace deepgap {

// From 0, of an input of `rank`: the attribute or the input `axes`; none named are all of them, or none with noop_with_empty_axes. `Call`
// is how the evaluator or an engine reads a node: ints_or_input(), int_of() and axis().
template <typename Call>
std::vector<int64_t> reduced_axes(const Call& call, size_t rank) {
  std::vector<int64_t> axes = call.ints_or_input("axes", 1, {});
  if (axes.empty() && call.int_of("noop_with_empty_axes", 0) == 0) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t& axis : axes) axis = call.axis(axis, rank);
  return axes;
}

}  // namespace deepgap
