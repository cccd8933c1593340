// Scores a text with a decoder, and with another form of it (worker/text_scores.h), for `deepgap check --text`. In a child process only.
#pragma once

#include "worker/sample_outputs.h"
#include "worker/text_scores.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>

namespace deepgap {

struct TextRequest {
  OutputsRequest engine;    // with the network whose accuracy is asked for; `dataset`: the file with the text
  std::string against;      // the network that it is compared with; empty: none
  int64_t most_chunks = 0;  // 0: all of the text
};
nlohmann::json text_request_to_json(const TextRequest& request);
TextRequest text_request_from_json(const nlohmann::json& json);

struct ScoredText {
  std::string version;  // version of the engine
  TextResult result;
};
nlohmann::json scored_text_to_json(const ScoredText& scored);
ScoredText scored_text_from_json(const nlohmann::json& json);

// Called after each chunk.
using ChunkReceiver = std::function<void(int64_t done, int64_t chunks)>;

// Throws Error as open_model, open_plugin and load() do; Error{input} for a text that is empty, too short or not UTF-8, and for a reference
// with another tokenizer or vocabulary.
ScoredText score_text(const TextRequest& request, const ChunkReceiver& receive);

}  // namespace deepgap
