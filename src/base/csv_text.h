// Texts as cells of a CSV file, for all that writes one.
#pragma once

#include <string>
#include <string_view>

namespace deepgap {

// RFC 4180: in quotes where there is a comma, a quote or a line break, quotes doubled. A text that a spreadsheet would take for a formula
// (it begins with =, +, -, @, a tab or a carriage return) has an apostrophe in front; what a terminal would obey is a space
// (printable_lines() of words.h).
void append_csv_text(std::string& line, std::string_view text);
std::string csv_text(std::string_view text);

}  // namespace deepgap
