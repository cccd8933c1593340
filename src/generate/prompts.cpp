#include "generate/prompts.h"

#include "base/common_words.h"
#include "base/file.h"
#include "dataset/tensors_dataset.h"
#include "generate/prompt_file.h"

#include <deepgap/generate.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

Tensor bytes_tensor(const std::string& text) {
  Tensor tensor = make_tensor(DataType::u8, {1, static_cast<int64_t>(text.size())});
  std::memcpy(writable<uint8_t>(tensor).data(), text.data(), text.size());
  return tensor;
}

std::vector<Tensor> sample_of(const Prompt& prompt, bool reuse) {
  Tensor request = make_tensor(DataType::i64, {1, static_cast<int64_t>(prompt_fields)});
  const auto fields = writable<int64_t>(request);
  fields[static_cast<size_t>(PromptField::output_limit)] = prompt.output_tokens;
  fields[static_cast<size_t>(PromptField::is_conversation)] = prompt.is_conversation ? 1 : 0;
  fields[static_cast<size_t>(PromptField::unique_at)] = reuse ? -1 : prompt.unique_at;
  return {bytes_tensor(prompt.text), std::move(request)};
}

// `words` words, of which the first `shared` are the same in all prompts of a seed. Where the prompt is made unique, those words are not
// among them, so that its length is what was asked for.
Prompt made_up(int64_t words, const PromptRequest& request, RandomStream& random) {
  Prompt prompt;
  RandomStream common(request.seed, "shared prefix of prompts");
  const int64_t shared = std::min(request.shared_prefix, words), own = request.reuse ? 0 : unique_words;
  for (int64_t i = 0; i < shared; ++i) prompt.text += std::string(" ") + common_word(static_cast<uint64_t>(common.uniform() * 1e9));
  prompt.unique_at = static_cast<int64_t>(prompt.text.size());
  for (int64_t i = shared + own; i < words; ++i)
    prompt.text += std::string(" ") + common_word(static_cast<uint64_t>(random.uniform() * 1e9));
  return prompt;
}

class PromptDataset final : public TensorsDataset {
 public:
  PromptDataset(PromptRequest request, std::vector<Prompt> read) : request_(std::move(request)), read_(std::move(read)) {}

  std::string describe() const override {
    if (request_.source == "seeded") return fmt::format("prompts of common words, seed {}, {} samples", request_.seed, size());
    return fmt::format("prompts of {}, {} samples", request_.source, size());
  }
  size_t size() const override { return read_.empty() ? static_cast<size_t>(request_.size) : read_.size(); }

 protected:
  std::vector<Tensor> make(uint32_t index) override {
    RandomStream random(request_.seed, fmt::format("prompt {}", index));
    const int64_t asked = request_.prompt_tokens.of_sample(index, random);
    const int64_t answer = request_.output_tokens.value_or(Lengths(usual_output_tokens)).of_sample(index, random);
    Prompt prompt = read_.empty() ? Prompt{.input_tokens = asked} : read_[index];
    if (request_.output_tokens || prompt.output_tokens == 0) prompt.output_tokens = answer;
    if (prompt.text.empty()) prompt = with_text(prompt, random);
    return sample_of(prompt, request_.reuse);
  }

 private:
  Prompt with_text(const Prompt& lengths, RandomStream& random) const {
    Prompt prompt = made_up(lengths.input_tokens, request_, random);
    prompt.output_tokens = lengths.output_tokens;
    return prompt;
  }

  PromptRequest request_;
  std::vector<Prompt> read_;  // empty: all are made up
};

}  // namespace

std::unique_ptr<Dataset> open_prompts(const PromptRequest& request) {
  std::vector<Prompt> read;
  if (request.source != "seeded") read = read_prompts(request.source, request.size);
  return std::make_unique<PromptDataset>(request, std::move(read));
}

}  // namespace deepgap
