// An exception's text for people.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace deepgap {

// Returns the text of an exception; of one of the JSON library without that library's own code in front, so that
// "[json.exception.out_of_range.403] key 'lots' not found" becomes "key 'lots' not found". What it says of its own functions, "cannot use
// at() with array", is about the value that the file has.
inline std::string json_words(const std::exception& error) {
  std::string_view text = error.what();
  const size_t end = text.find("] ");
  if (!text.starts_with("[json.exception.") || end == std::string_view::npos) return std::string(text);
  text.remove_prefix(end + 2);
  constexpr std::string_view with = " with ";
  const size_t at = text.rfind(with);
  if (!text.starts_with("cannot use ") || at == std::string_view::npos) return std::string(text);
  const std::string type(text.substr(at + with.size()));
  return type == "discarded" ? "it is not JSON" : "a value of another type is expected, and it is " + type;
}

}  // namespace deepgap
