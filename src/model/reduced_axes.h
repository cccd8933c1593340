// The axes that a node Reduce... names, in whichever form its opset has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace deepgap {

// Returns the axes, counted from 0, of an input of `rank`: those in the attribute or the input `axes`; if none are named, all of them, or
// none with noop_with_empty_axes. `Call` is how the evaluator or an engine reads a node: ints_or_input(), int_of() and axis().
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
