#include "backends/openai/chunk.h"

#include "base/dump_json.h"
#include "base/parse_json.h"
#include "base/words.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace deepgap {
namespace {

using json = nlohmann::json;

const json* member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_in(const json& object, const char* key) {
  const json* found = member(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

// More tokens than any request has. Sums of counts stay far from where integers end.
constexpr uint64_t most_tokens = 1'000'000'000;

std::optional<int64_t> count_in(const json& object, const char* key) {
  const json* found = member(object, key);
  if (found == nullptr || !found->is_number_unsigned()) return std::nullopt;  // the library's type of a whole number from 0 on
  return static_cast<int64_t>(std::min(found->get<uint64_t>(), most_tokens + 1));
}

StopReason stop_from(const std::string& reason) {
  if (reason == "stop" || reason == "eos_token" || reason == "eos" || reason == "stop_sequence") return StopReason::finished;
  if (reason == "length" || reason == "max_tokens") return StopReason::limit;
  if (reason == "tool_calls" || reason == "function_call") return StopReason::tool_call;
  if (reason == "content_filter") return StopReason::filtered;
  return StopReason::unknown;
}

std::string error_words(const json& error) {
  if (error.is_string()) return error.get<std::string>();
  const std::string message = text_in(error, "message");
  return message.empty() ? dump_line(error) : message;
}

// The arguments of a tool are generated as the answer is.
std::string tool_text(const json& delta) {
  std::string text;
  const json* calls = member(delta, "tool_calls");
  if (calls != nullptr && calls->is_array()) {
    for (const json& call : *calls) {
      const json* function = member(call, "function");
      if (function != nullptr) text += text_in(*function, "name") + text_in(*function, "arguments");
    }
  }
  if (const json* call = member(delta, "function_call")) text += text_in(*call, "name") + text_in(*call, "arguments");
  return text;
}

void read_choice(const json& choice, Chunk& chunk) {
  const json* delta = member(choice, "delta");
  if (delta == nullptr) delta = member(choice, "message");
  if (delta != nullptr) {
    chunk.text = text_in(*delta, "content") + text_in(*delta, "refusal") + tool_text(*delta);
    chunk.reasoning = text_in(*delta, "reasoning_content");
    if (chunk.reasoning.empty()) chunk.reasoning = text_in(*delta, "reasoning");
  } else {
    chunk.text = text_in(choice, "text");
  }
  if (const std::string reason = text_in(choice, "finish_reason"); !reason.empty()) chunk.stop = stop_from(reason);
}

void read_choices(const json& choices, Chunk& chunk) {
  if (!choices.is_array()) {
    chunk.request_error = "a chunk's choices are not a list";
    return;
  }
  for (const json& choice : choices) {
    const int64_t index = count_in(choice, "index").value_or(0);
    if (index == 0 && &choice == &choices.front()) {
      read_choice(choice, chunk);
    } else {
      chunk.request_error = fmt::format("the stream has several choices (index {}); deepgap requested one", index);
      return;
    }
  }
}

void read_counts(const json& object, Chunk& chunk) {
  if (const json* usage = member(object, "usage")) {
    chunk.input = count_in(*usage, "prompt_tokens");
    chunk.output = count_in(*usage, "completion_tokens");
    if (const json* details = member(*usage, "prompt_tokens_details")) chunk.cached = count_in(*details, "cached_tokens");
  }
  const json* timings = member(object, "timings");
  if (timings == nullptr || !timings->is_object()) return;
  for (const auto& [name, value] : timings->items())
    if (value.is_number()) chunk.timings.emplace(name, value.get<double>());
  if (!chunk.output) chunk.output = count_in(*timings, "predicted_n");
  if (!chunk.cached) chunk.cached = count_in(*timings, "cache_n");
}

void check_counts(Chunk& chunk) {
  for (const auto& count : {chunk.input, chunk.output, chunk.cached})
    if (count && static_cast<uint64_t>(*count) > most_tokens)
      chunk.request_error = fmt::format("the server counts more than {} tokens in one request", most_tokens);
}

}  // namespace

Chunk read_chunk(std::string_view text) {
  Chunk chunk;
  const json object = parse_json(text);
  if (!object.is_object()) {
    chunk.request_error = fmt::format("a chunk of the stream is not a JSON object: {}", one_line(text, 60));
    return chunk;
  }
  if (const json* error = member(object, "error")) {
    chunk.request_error = fmt::format("an error in the stream: {}", one_line(error_words(*error), 160));
    return chunk;
  }
  const json* choices = member(object, "choices");
  if (choices != nullptr) read_choices(*choices, chunk);
  if (choices == nullptr && member(object, "usage") == nullptr)
    chunk.request_error = fmt::format("a chunk of the stream has no choices: {}", one_line(text, 60));
  read_counts(object, chunk);
  if (chunk.request_error.empty()) check_counts(chunk);
  return chunk;
}

}  // namespace deepgap
