// Cuts text into the pieces within which byte-pair encoding merges, as the regular expressions of GPT-2, SmolLM, Qwen2 and Llama 3 do. Pure
// functions. Text that is not UTF-8 is taken byte by byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// Splits are known by the names that GGUF files give them ("tokenizer.ggml.pre").
bool knows_text_split(const std::string& name);
std::vector<std::string> text_split_names();
// Their concatenation is the text. Throws Error{refused} for an unknown name.
std::vector<std::string_view> split_text(const std::string& name, std::string_view text);

}  // namespace deepgap
