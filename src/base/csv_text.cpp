#include "base/csv_text.h"

#include "base/words.h"

#include <algorithm>

namespace deepgap {
namespace {

// Quick, since a Store of a million Records has many texts. 0xc2 and 0xe2 begin those beyond ASCII.
bool may_hold_controls(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte < 0x20 || byte == 0x7f || byte == 0xc2 || byte == 0xe2;
  });
}

}  // namespace

void append_csv_text(std::string& line, std::string_view text) {
  const bool is_formula = !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
  const std::string cleaned = may_hold_controls(text) ? printable_lines(text) : std::string();
  if (!cleaned.empty()) text = cleaned;
  const std::string_view mark = is_formula ? "'" : "";
  if (text.find_first_of(",\"\n") == std::string_view::npos) {
    line += mark;
    line += text;
    return;
  }
  line += '"';
  line += mark;
  for (const char letter : text) {
    if (letter == '"') line += '"';
    line += letter;
  }
  line += '"';
}

std::string csv_text(std::string_view text) {
  std::string cell;
  append_csv_text(cell, text);
  return cell;
}

}  // namespace deepgap
