// Prompts of a file: lines of text, conversations as JSON, or a trace of lengths. prompts.h says in which forms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

struct Prompt {
  std::string text;  // or the JSON array of messages of a conversation; empty: to be made up, of input_tokens
  bool is_conversation = false;
  int64_t unique_at = 0;      // byte before which a unique text may stand
  int64_t input_tokens = 0;   // 0: not known
  int64_t output_tokens = 0;  // likewise
};

// Reads at least one prompt, at most `most`, by the end of the file's name: .txt, .jsonl, .json, .csv. Throws Error{usage} for another,
// {input} "FILE:LINE: what is wrong".
std::vector<Prompt> read_prompts(const std::string& path, int64_t most);

}  // namespace deepgap
