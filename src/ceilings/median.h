#pragma once

#include <algorithm>
#include <vector>

namespace deepgap {

// Returns the upper one of the two middle values of an even number. `values` is not empty.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace deepgap
