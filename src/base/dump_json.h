// Writes JSON as text, from values that others gave: bytes that are not UTF-8 become U+FFFD, so that writing never throws.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

// One line, in UTF-8; and with an escape for each character that is not ASCII.
std::string dump_line(const nlohmann::json& json);
std::string dump_ascii_line(const nlohmann::json& json);
// A line for each value, indented by two spaces a level, in ASCII; the last line ends, too.
std::string dump_indented(const nlohmann::json& json);
std::string dump_indented(const nlohmann::ordered_json& json);

}  // namespace deepgap
