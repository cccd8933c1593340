// Names of files are bytes, JSON is UTF-8: a byte that is no part of valid UTF-8 becomes a character of its own and comes back as it was.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace deepgap {

// Length of the valid UTF-8 sequence at `i`, 0 where there is none. Overlong forms, surrogates and values beyond U+10FFFF are not valid.
size_t utf8_length(std::string_view text, size_t i);

// Returns whether a byte of a UTF-8 text begins a character.
inline bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }
// Counts the characters of a UTF-8 text.
size_t count_characters(std::string_view text);

// Valid UTF-8: each byte b that is no part of a valid sequence becomes U+F700 + b (U+F780 to U+F7FF, of the private use area). So do the
// bytes of those characters themselves, so that of_utf8(as_utf8(x)) == x for all x.
std::string as_utf8(std::string_view bytes);
std::string of_utf8(std::string_view text);

// The text with every byte that is no part of valid UTF-8 replaced by U+FFFD.
std::string utf8_text(const std::string& text);

}  // namespace deepgap
