// Prompts as a Dataset: made up, or read from a file. A sample is a prompt with the tokens that its answer may have (deepgap/generate.h).
#pragma once

#include "generate/lengths.h"

#include <deepgap/dataset.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace deepgap {

struct PromptRequest {
  // seeded: common words. FILE.txt: a prompt a line. FILE.jsonl and .json: an object a line, or an array of them: a conversation in the
  // form of ShareGPT ("conversations" with "from" and "value") or of OpenAI ("messages"), or a "prompt". FILE.csv: a trace in the form of
  // BurstGPT: its request and response tokens become lengths of made-up prompts.
  std::string source = "seeded";
  Lengths prompt_tokens{512};            // length of made-up prompts
  std::optional<Lengths> output_tokens;  // nullopt: as the file says, else 128
  int64_t shared_prefix = 0;             // tokens at the beginning that all prompts have in common, of prompt_tokens
  bool reuse = false;                    // prompts are sent as they are, again and again; else each query's is made unique
  uint64_t seed = 1;
  int64_t size = 512;  // samples: of made-up prompts; of a file's at most so many
};

inline constexpr int64_t usual_output_tokens = 128;

// Throws Error{usage}, and {input} naming the file and the line.
std::unique_ptr<Dataset> open_prompts(const PromptRequest& request);

}  // namespace deepgap
