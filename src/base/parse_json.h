// Parses JSON that others wrote: servers, files, stores.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>

namespace deepgap {

inline constexpr int most_json_levels = 500;

// Returns whether arrays and objects nest more than `levels` deep. The answer means nothing if the text is not JSON.
inline bool is_nested_deeper(std::string_view text, int levels) {
  int level = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if ((c == '[' || c == '{') && ++level > levels) return true;
    if (c == ']' || c == '}') --level;
  }
  return false;
}

// Returns a discarded value where `text` is not JSON, and where it is nested too deeply: the library prints, copies and compares values by
// recursion, so that a text of 100,000 brackets would end the process.
inline nlohmann::json parse_json(std::string_view text) {
  if (is_nested_deeper(text, most_json_levels)) return nlohmann::json::value_t::discarded;
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace deepgap
