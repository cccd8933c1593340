// Parses JSON that others wrote: servers, files, stores.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace deepgap {

inline constexpr int most_json_levels = 500;

// Returns whether arrays and objects nest more than `levels` deep. The answer means nothing if the text is not JSON.
bool is_nested_deeper(std::string_view text, int levels);

// Returns a discarded value where `text` is not JSON, and where it is nested too deeply: the library prints, copies and compares values by
// recursion, so that a text of 100,000 brackets would end the process.
nlohmann::json parse_json(std::string_view text);

}  // namespace deepgap
