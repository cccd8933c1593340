// `deepgap check --text`: perplexity of a decoder on a text, alone or beside another form of it.
#pragma once

#include "worker/score_text.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

// Computes it in a child process, and prints it as a table or as JSON. Returns the exit code.
int check_text(const TextRequest& request, bool as_json);

// For check_text() and its tests.
std::string text_table(const TextRequest& request, const ScoredText& scored);
nlohmann::json text_json(const TextRequest& request, const ScoredText& scored);

}  // namespace deepgap
