// Counts how often a part stands in a text, for tests.
#pragma once

#include <cstddef>
#include <string>

namespace deepgap {

inline size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace deepgap
