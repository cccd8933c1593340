#include "base/byte_text.h"

#include <algorithm>

namespace deepgap {
namespace {

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// U+F780 to U+F7BF are EF 9E 80..BF, U+F7C0 to U+F7FF are EF 9F 80..BF.
bool stands_for_a_byte(std::string_view text, size_t i) {
  if (i + 3 > text.size() || text[i] != '\xEF') return false;
  return (text[i + 1] == '\x9E' || text[i + 1] == '\x9F') && is_continuation(static_cast<unsigned char>(text[i + 2]));
}

}  // namespace

size_t count_characters(std::string_view text) { return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character)); }

size_t utf8_length(std::string_view text, size_t i) {
  const auto at = [&](size_t k) -> unsigned char { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0; };
  const unsigned char lead = at(i), next = at(i + 1);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return is_continuation(next) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool range = (lead != 0xE0 || next >= 0xA0) && (lead != 0xED || next <= 0x9F);
    return is_continuation(next) && range && is_continuation(at(i + 2)) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool range = (lead != 0xF0 || next >= 0x90) && (lead != 0xF4 || next <= 0x8F);
    return is_continuation(next) && range && is_continuation(at(i + 2)) && is_continuation(at(i + 3)) ? 4 : 0;
  }
  return 0;
}

std::string as_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const size_t length = stands_for_a_byte(bytes, i) ? 0 : utf8_length(bytes, i);
    if (length > 0) {
      text += bytes.substr(i, length);
      i += length;
      continue;
    }
    const auto byte = static_cast<unsigned char>(bytes[i++]);  // 0x80 or more: what is less is valid alone
    text += {'\xEF', byte < 0xC0 ? '\x9E' : '\x9F', static_cast<char>(0x80 | (byte & 0x3F))};
  }
  return text;
}

std::string of_utf8(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (stands_for_a_byte(text, i)) {
      const unsigned char high = text[i + 1] == '\x9E' ? 0x80 : 0xC0;
      bytes += static_cast<char>(high | (static_cast<unsigned char>(text[i + 2]) & 0x3F));
      i += 3;
    } else {
      bytes += text[i++];
    }
  }
  return bytes;
}

std::string utf8_text(const std::string& text) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
  std::string valid;
  valid.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    valid += length == 0 ? replacement : std::string_view(text).substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return valid;
}

}  // namespace deepgap
