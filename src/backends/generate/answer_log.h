// Logs generated text for people who want to read it: one JSON object a line with the ids of the prompt and of the answer, and its text. It
// is kept in memory while queries are measured. One thread.
#pragma once

#include "model/decoder/tokenizer.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class AnswerLog {
 public:
  static constexpr size_t most_answers = 1000;
  // An empty path: nothing is kept. Throws Error{input} if the file cannot be written.
  explicit AnswerLog(std::string path);
  void add(std::span<const int64_t> prompt, std::span<const int64_t> answer);
  void write(const Tokenizer& tokenizer);  // all since the last call; the first call replaces what the file held

 private:
  struct Answer {
    std::vector<int64_t> prompt, tokens;
  };
  std::string path_;
  size_t added_ = 0;
  std::vector<Answer> answers_;
};

}  // namespace deepgap
