#include "backends/openai/request.h"

#include "base/dump_json.h"

#include <deepgap/error.h>
#include <deepgap/generate.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>

namespace deepgap {
namespace {

using json = nlohmann::json;

// Escapes the text as it stands between quotes.
std::string escaped(std::string_view text) {
  const std::string quoted = dump_line(json(text));
  return quoted.substr(1, quoted.size() - 2);
}

std::string text_of(const TensorView& bytes) {
  const auto values = bytes.as<uint8_t>();
  return {values.begin(), values.end()};
}

// The fields behind the prompt, with a comma before each.
std::string other_fields(int64_t limit, const OpenaiSettings& settings) {
  json fields{{"stream", true}, {"stream_options", {{"include_usage", true}}}, {"temperature", 0}};
  if (limit > 0) fields["max_tokens"] = limit;
  if (settings.vendor_fields) {
    fields["stream_options"]["continuous_usage_stats"] = true;  // vLLM, SGLang
    fields["timings_per_token"] = true;                         // llama.cpp
  }
  if (settings.ignore_end) fields["ignore_eos"] = true;
  if (!settings.extra.empty()) fields.update(json::parse(settings.extra));
  const std::string object = dump_line(fields);
  return "," + object.substr(1);
}

// Where the unique text goes into the JSON of the messages or of the text.
void cut(PromptBody& body, const std::string& before, const std::string& text, bool is_json, int64_t unique_at, const std::string& behind) {
  const bool inside = unique_at >= 0 && static_cast<size_t>(unique_at) <= text.size();
  const size_t at = inside ? static_cast<size_t>(unique_at) : text.size();
  body.is_unique = unique_at >= 0;
  const auto part = [&](size_t from, size_t count) { return is_json ? text.substr(from, count) : escaped(text.substr(from, count)); };
  body.head = before + part(0, at);
  body.tail = part(at, std::string::npos) + behind;
}

}  // namespace

const char* endpoint_path(bool is_chat) { return is_chat ? "/v1/chat/completions" : "/v1/completions"; }

PromptBody prompt_body(const std::vector<TensorView>& sample, const std::string& model, const OpenaiSettings& settings) {
  if (sample.size() != 2 || sample[1].as<int64_t>().size() != prompt_fields)
    throw Error(ErrorKind::input, "openai: a sample is not a prompt: add --task generate");
  const auto request = sample[1].as<int64_t>();
  const auto field = [&](PromptField which) { return request[static_cast<size_t>(which)]; };
  const std::string text = text_of(sample[0]);
  const bool is_conversation = field(PromptField::is_conversation) != 0;
  if (is_conversation && settings.endpoint == Endpoint::completions)
    throw Error(ErrorKind::input, "openai: conversations go to endpoint=chat: leave out endpoint=completions, or give prompts of text");
  PromptBody body;
  body.is_chat = settings.endpoint == Endpoint::chat || (settings.endpoint == Endpoint::automatic && is_conversation);
  body.output_limit = field(PromptField::output_limit);
  const std::string begin = fmt::format(R"({{"model":"{}",)", escaped(model)), rest = other_fields(body.output_limit, settings);
  if (is_conversation) {
    cut(body, begin + R"("messages":)", text, true, field(PromptField::unique_at), rest);
  } else if (body.is_chat) {
    cut(body, begin + R"("messages":[{"role":"user","content":")", text, false, field(PromptField::unique_at), "\"}]" + rest);
  } else {
    cut(body, begin + R"("prompt":")", text, false, field(PromptField::unique_at), "\"" + rest);
  }
  return body;
}

}  // namespace deepgap
