// An option of a Point by name.
#pragma once

#include <deepgap/point.h>

#include <string>

namespace deepgap {

inline std::string option_of(const Point& point, const std::string& name, const std::string& otherwise = "") {
  const auto found = point.options.find(name);
  return found == point.options.end() ? otherwise : found->second;
}

}  // namespace deepgap
