#include "base/parse_json.h"

#include <nlohmann/json.hpp>

#include <cstddef>

namespace deepgap {

bool is_nested_deeper(std::string_view text, int levels) {
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

nlohmann::json parse_json(std::string_view text) {
  if (is_nested_deeper(text, most_json_levels)) return nlohmann::json::value_t::discarded;
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace deepgap
