// The tokenizer of a folder of Hugging Face's form: tokenizer.json and tokenizer_config.json.
#pragma once

#include "model/decoder/decoder.h"

#include <nlohmann/json.hpp>

#include <cstdint>

namespace deepgap {

// A tokenizer that is not byte-level byte-pair encoding, or that normalizes or splits text in another way than deepgap knows, has a `model`
// or `split` that says so, which make_file_tokenizer() refuses. Throws Error{input} where the file contradicts itself.
TokenizerData tokenizer_of_json(const nlohmann::json& tokenizer, const nlohmann::json& config, int64_t vocabulary);

}  // namespace deepgap
