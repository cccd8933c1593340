// Text to tokens and back, as the vocabulary of a GGUF file says: byte-level byte-pair encoding (GPT-2 and all after it that GGUF calls
// "gpt2"). A file with another tokenizer, or a network without a file, has WordTokenizer: a made-up id for each word, so that speed can be
// measured where the text does not matter. Thread-safe.
#pragma once

#include "model/decoder/decoder.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace deepgap {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<int64_t> encode(std::string_view text) const = 0;
  virtual std::string decode(std::span<const int64_t> tokens) const = 0;
};

// Throws Error{refused} for a tokenizer that is not byte-level byte-pair encoding.
std::unique_ptr<Tokenizer> make_file_tokenizer(const TokenizerData& data);
// Splits words at blanks; ids are below `vocabulary`.
std::unique_ptr<Tokenizer> make_word_tokenizer(int64_t vocabulary);

// A conversation, a JSON array of {"role", "content"}, as the text that the network was trained on, with the beginning of an answer. Throws
// Error{refused} for a chat template other than ChatML's.
std::string conversation_text(const TokenizerData& data, const std::string& messages);

}  // namespace deepgap
