// An exception's text for people.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace deepgap {

// Returns the text of an exception; of one of the JSON library without that library's own code in front, so that
// "[json.exception.out_of_range.403] key 'lots' not found" becomes "key 'lots' not found".
inline std::string json_words(const std::exception& error) {
  const std::string_view text = error.what();
  const size_t end = text.find("] ");
  const bool has_code = text.starts_with("[json.exception.") && end != std::string_view::npos;
  return std::string(has_code ? text.substr(end + 2) : text);
}

}  // namespace deepgap
