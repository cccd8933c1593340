#include "base/words.h"

#include <algorithm>
#include <cctype>

namespace deepgap {
namespace {

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Finds, in UTF-8, what a terminal obeys beyond ASCII's control characters: the second block of them (U+009B begins a command as ESC [
// does), line and paragraph ends (U+2028, U+2029), and what turns the direction of writing (U+061C, U+200E, U+200F, U+202A to U+202E,
// U+2066 to U+2069), and what is not seen at all, so that two names look alike (U+200B, U+2060 to U+2064, U+FEFF, U+E0000 to U+E007F).
// Returns its bytes, or 0.
size_t control_beyond_ascii(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) <= 0x9f) return 2;
  if (byte(0) == 0xd8 && byte(1) == 0x9c) return 2;
  if (byte(0) == 0xef && byte(1) == 0xbb && byte(2) == 0xbf) return 3;
  if (byte(0) == 0xf3 && byte(1) == 0xa0 && (byte(2) == 0x80 || byte(2) == 0x81) && byte(3) >= 0x80) return 4;
  if (byte(0) != 0xe2) return 0;
  const bool in_first = byte(1) == 0x80 && ((byte(2) >= 0xa8 && byte(2) <= 0xae) || byte(2) == 0x8b || byte(2) == 0x8e || byte(2) == 0x8f),
             in_second = byte(1) == 0x81 && ((byte(2) >= 0xa6 && byte(2) <= 0xa9) || (byte(2) >= 0xa0 && byte(2) <= 0xa4));
  return in_first || in_second ? 3 : 0;
}

std::string without_controls(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const bool is_control = std::iscntrl(static_cast<unsigned char>(text[i])) != 0 && kept.find(text[i]) == kept.npos;
    const size_t control = is_control ? 1 : control_beyond_ascii(text.substr(i));
    shown += control > 0 ? ' ' : text[i];
    i += std::max<size_t>(control, 1);
  }
  return shown;
}

}  // namespace

bool has_word(std::string_view text, std::string_view word) {
  if (word.empty()) return false;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    const size_t end = at + word.size();
    if (begins && (end == text.size() || !is_word_character(text[end]))) return true;
  }
  return false;
}

std::string printable(std::string_view text) { return without_controls(text, ""); }

std::string printable_lines(std::string_view text) { return without_controls(text, "\n\t"); }

std::string one_line(std::string_view text, size_t most) {
  std::string line = printable(text);
  if (line.size() <= most) return line;
  size_t end = most;
  while (end > 0 && end + 4 > most && is_continuation(line[end])) --end;  // no part of a character
  return line.substr(0, end) + "...";
}

}  // namespace deepgap
