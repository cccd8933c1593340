// The bodies of requests: what is the same in all of them is written once, when prompts are staged.
#pragma once

#include "backends/openai/settings.h"

#include <deepgap/tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// A request of one prompt, but for the text that makes it unique.
struct PromptBody {
  std::string head, tail;  // JSON before and behind that text
  bool is_unique = false;  // whether one is put in
  bool is_chat = false;
  int64_t output_limit = 0;
};

// Throws Error{input} for a sample that is not a prompt (deepgap/generate.h), or not one that its endpoint takes.
PromptBody prompt_body(const std::vector<TensorView>& sample, const std::string& model, const OpenaiSettings& settings);

const char* endpoint_path(bool is_chat);

}  // namespace deepgap
