// Common English words, and texts made of them. With a space before it each is one token of the byte-pair vocabularies that language models
// use (GPT-2's, Llama 3's, Qwen2's, SmolLM2's), so that the length of such a text in tokens is nearly its number of words. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace deepgap {

inline constexpr size_t common_word_count = 128;
inline constexpr int unique_words = 5;  // 2^35 texts

// The word of a number, by its remainder.
const char* common_word(uint64_t number);
// A text of unique_words words that differs from that of every other number below 2^35 with the same seed: " water house ...".
std::string unique_text(uint64_t seed, uint64_t number);

}  // namespace deepgap
