#include "backends/generate/staged_prompt.h"

#include "base/common_words.h"
#include "model/decoder/tokenizer.h"

#include <deepgap/error.h>
#include <deepgap/generate.h>

#include <algorithm>
#include <string_view>

namespace deepgap {
namespace {

std::string text_of(const TensorView& bytes) {
  const auto values = bytes.as<uint8_t>();
  return {values.begin(), values.end()};
}

}  // namespace

std::string StagedPrompt::text(uint64_t unique_seed, uint64_t number) const {
  return is_unique ? head + unique_text(unique_seed, number) + tail : head + tail;
}

// A text within JSON needs no escapes: unique texts are words.
StagedPrompt staged_prompt(const std::vector<TensorView>& sample, const TokenizerData& tokenizer) {
  if (sample.size() != 2 || sample[1].as<int64_t>().size() != prompt_fields)
    throw Error(ErrorKind::internal, "a sample of task generate is not a prompt and its request");
  const auto field = [&](PromptField name) { return sample[1].as<int64_t>()[static_cast<size_t>(name)]; };
  const bool is_conversation = field(PromptField::is_conversation) != 0;
  std::string text = text_of(sample[0]);
  const int64_t unique_at = field(PromptField::unique_at);
  StagedPrompt prompt;
  prompt.output_limit = field(PromptField::output_limit);
  prompt.is_unique = unique_at >= 0;
  const size_t at = std::min(static_cast<size_t>(std::max<int64_t>(unique_at, 0)), text.size());
  if (!is_conversation) {
    prompt.head = text.substr(0, at);
    prompt.tail = text.substr(at);
    return prompt;
  }
  // A mark that no text has shows where the unique text goes once the template is applied.
  constexpr std::string_view mark = "\x01unique\x01", in_json = "\\u0001unique\\u0001";
  if (prompt.is_unique) text.insert(at, in_json);
  const std::string filled = conversation_text(tokenizer, text);
  const size_t found = filled.find(mark);
  prompt.head = filled.substr(0, found);
  if (found != std::string::npos) prompt.tail = filled.substr(found + mark.size());
  return prompt;
}

}  // namespace deepgap
