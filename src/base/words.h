// Reading and shortening other programs' messages: which name stands in them, and what of them fits on a line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace deepgap {

// Returns whether `word` stands in `text` as a word of its own: "Conv" is not in "ConvTranspose". Never for an empty word.
bool has_word(std::string_view text, std::string_view word);
// Control characters, line ends and what turns the direction of writing become a space each; what is no UTF-8 stays.
std::string printable(std::string_view text);
// Returns several lines likewise: line ends and tabs stay.
std::string printable_lines(std::string_view text);
// One line for people: printable, and what is beyond `most` bytes becomes "...".
std::string one_line(std::string_view text, size_t most = 300);

}  // namespace deepgap
