// Options of a Point by name.
#pragma once

#include <deepgap/point.h>

#include <string>

namespace deepgap {

inline std::string option_of(const Point& point, const std::string& name, const std::string& otherwise = "") {
  const auto found = point.options.find(name);
  return found == point.options.end() ? otherwise : found->second;
}

// Returns whether the null backend runs with clock=virtual, which is for one process and one thread.
inline bool is_in_virtual_time(const Point& point) {
  return option_of(point, point.backend + ".clock", option_of(point, "clock")) == "virtual";
}

}  // namespace deepgap
