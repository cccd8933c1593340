// --shape of every command: sizes of inputs as one text, the value of the axis `shape`.
#pragma once

#include "base/text.h"

#include <algorithm>
#include <string>
#include <vector>

namespace deepgap {

// {"a:1,3,8,8", "b:1x4"}, one for each time the flag was given: "a:1x3x8x8/b:1x4", which parse_shapes (worker/point_options.h) reads.
inline std::string joined_shapes(const std::vector<std::string>& given) {
  std::string shapes = join(given, "/");
  std::replace(shapes.begin(), shapes.end(), ',', 'x');
  return shapes;
}

}  // namespace deepgap
