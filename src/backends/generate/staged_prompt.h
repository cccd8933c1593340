// A prompt as a Dataset gives it (deepgap/generate.h), taken apart: one that is made unique gets a text of its own in each query. Plain
// data.
#pragma once

#include "model/decoder/decoder.h"

#include <deepgap/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

struct StagedPrompt {
  std::string head, tail;  // before and behind the unique text
  bool is_unique = false;
  std::vector<int64_t> tokens;  // tokens of a prompt that is not unique, once it is encoded
  int64_t output_limit = 0;

  // For the query of this number.
  std::string text(uint64_t unique_seed, uint64_t number) const;
};

// Throws Error{refused} for a conversation where the network has no chat template that deepgap knows.
StagedPrompt staged_prompt(const std::vector<TensorView>& sample, const TokenizerData& tokenizer);

}  // namespace deepgap
