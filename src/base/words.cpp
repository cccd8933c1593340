#include "base/words.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace deepgap {
namespace {

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

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

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; }, ' ');
  return text;
}

std::string one_line(std::string text) {
  text = printable(std::move(text));
  constexpr size_t limit = 300;
  if (text.size() > limit) text = text.substr(0, limit) + "...";
  return text;
}

}  // namespace deepgap
