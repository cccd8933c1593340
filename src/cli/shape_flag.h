// --shape and --input of every command: sizes and numbers of inputs as one text, the value of the axis `shape` or `input`.
#pragma once

#include "base/text.h"

#include <algorithm>
#include <string>
#include <vector>

namespace deepgap {

// {"a:1,3,8,8", "b:1x4"}, one for each time the flag was given: "a:1x3x8x8/b:1x4", which parse_shapes (worker/input_values.h) reads.
inline std::string joined_shapes(const std::vector<std::string>& given) {
  std::string shapes = join(given, "/");
  std::replace(shapes.begin(), shapes.end(), ',', 'x');
  return shapes;
}

// {"k=5", "sizes=1,3,8,8"}: "k=5/sizes=1x3x8x8", which parse_input_numbers reads. Commas would divide an axis.
inline std::string joined_input_numbers(const std::vector<std::string>& given) { return joined_shapes(given); }

inline constexpr const char* input_flag_describe = "Set numbers of an input in made-up samples: k=5, sizes=1,3,224,224, use_cache=true";

}  // namespace deepgap
