#include "report/html.h"

#include "base/words.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
      case '\t':
        out += c;
        break;
      default:
        if (is_control(c)) {
          out += replacement;
        } else {
          out += c;
        }
    }
  }
  return printable_lines(out);
}

std::string markdown_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\t' || c == '\r') {
      out += ' ';
    } else if (c == '<' || c == '>' || c == '&') {
      out += html_escaped(std::string_view(&c, 1));
    } else if (is_control(c)) {
      out += replacement;
    } else {
      if (std::string_view("\\`*_{}[]|#~!").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return printable_lines(out);
}

std::string css_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_control(c) || std::string_view("\"'\\<>&").find(c) != std::string_view::npos) {
      out += fmt::format("\\{:x} ", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string shortened(std::string_view text, size_t most) {
  size_t characters = 0, end = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_continuation(text[i])) continue;
    if (characters == most - 1) end = i;
    if (++characters > most) return std::string(text.substr(0, end)) + "\u2026";
  }
  return std::string(text);
}

}  // namespace deepgap
