#include "model/decoder/tokenizer_json.h"

#include "base/dump_json.h"
#include "base/words.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace deepgap {
namespace {

using json = nlohmann::json;

constexpr int64_t normal_kind = 1, control_kind = 3, user_kind = 4;  // as GGUF files number them

[[noreturn]] void fail(const std::string& cause) {
  throw Error(ErrorKind::input, printable(fmt::format("tokenizer.json, beside it: {}", cause)));
}

// Null where there is none.
json part(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : json();
}
std::string text(const json& object, const char* name) {
  const json value = part(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}
bool flag(const json& object, const char* name, bool otherwise) {
  const json value = part(object, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

// The parts of a sequence, which `list` names, or the one that is there.
std::vector<json> parts(const json& object, const char* list) {
  if (object.is_null()) return {};
  if (text(object, "type") != "Sequence") return {object};
  const json all = part(object, list);
  return all.is_array() ? all.get<std::vector<json>>() : std::vector<json>();
}

std::string other_form(const std::vector<json>& parts) {
  std::string name;
  for (const json& one : parts) name += (name.empty() ? "" : ", ") + text(one, "type");
  return printable(name);
}

// The name by which text_split.h knows the split; another where it does not.
std::string split_of(const json& tokenizer) {
  constexpr const char* contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|";
  constexpr const char* rest = "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  const std::vector<json> steps = parts(part(tokenizer, "pre_tokenizer"), "pretokenizers");
  const auto type = [&](size_t i) { return text(steps[i], "type"); };
  const bool is_bytes = !steps.empty() && type(steps.size() - 1) == "ByteLevel" && !flag(steps.back(), "add_prefix_space", true);
  const bool cuts = is_bytes && flag(steps.back(), "use_regex", true);
  if (is_bytes && cuts && steps.size() == 1) return "gpt-2";
  if (is_bytes && cuts && steps.size() == 2 && type(0) == "Digits" && flag(steps[0], "individual_digits", false)) return "smollm";
  if (is_bytes && !cuts && steps.size() == 2 && type(0) == "Split" && text(steps[0], "behavior") == "Isolated") {
    const std::string pattern = text(part(steps[0], "pattern"), "Regex");
    if (pattern == std::string(contractions) + "\\p{N}" + rest) return "qwen2";
    if (pattern == std::string(contractions) + "\\p{N}{1,3}" + rest) return "llama-bpe";
  }
  return other_form(steps);
}

// "gpt2" for byte-level byte-pair encoding of text as it stands; composed characters are taken as they are.
std::string model_of_text(const json& tokenizer) {
  const std::string type = text(part(tokenizer, "model"), "type");
  const std::vector<json> normalizers = parts(part(tokenizer, "normalizer"), "normalizers");
  for (const json& one : normalizers)
    if (text(one, "type") != "NFC") return fmt::format("{} of text changed by {}", printable(type), other_form(normalizers));
  if (flag(part(tokenizer, "model"), "byte_fallback", false)) return printable(type) + " with byte fallback";
  return type == "BPE" ? "gpt2" : printable(type);
}

void put(TokenizerData& data, const std::string& token, const json& id, int64_t kind, int64_t vocabulary) {
  if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= vocabulary)
    fail(fmt::format("its token '{}' is {}, outside of the vocabulary of {}", token, dump_line(id), vocabulary));
  const auto at = id.get<size_t>();
  if (at >= data.tokens.size()) {
    data.tokens.resize(at + 1);
    data.kinds.resize(at + 1, normal_kind);
  }
  data.tokens[at] = token;
  data.kinds[at] = kind;
}

void read_tokens(const json& tokenizer, int64_t vocabulary, TokenizerData& data) {
  const json tokens = part(part(tokenizer, "model"), "vocab");
  if (!tokens.is_object()) fail("its vocabulary is not an object of tokens and ids");
  for (const auto& [token, id] : tokens.items()) put(data, token, id, normal_kind, vocabulary);
  const json added = part(tokenizer, "added_tokens");
  for (const json& one : added.is_array() ? added : json::array())
    put(data, text(one, "content"), part(one, "id"), flag(one, "special", false) ? control_kind : user_kind, vocabulary);
}

void read_merges(const json& tokenizer, TokenizerData& data) {
  const json merges = part(part(tokenizer, "model"), "merges");
  if (!merges.is_array()) fail("its merges are not a list");
  for (const json& one : merges) {
    const bool is_pair = one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_string();
    if (!is_pair && !one.is_string()) fail("one of its merges is not a pair of tokens");
    data.merges.push_back(is_pair ? one[0].get<std::string>() + " " + one[1].get<std::string>() : one.get<std::string>());
  }
}

// The token that a template puts before each text, as Llama 3's does.
void read_begin(const json& tokenizer, TokenizerData& data) {
  for (const json& step : parts(part(tokenizer, "post_processor"), "processors")) {
    const json single = part(step, "single");
    if (text(step, "type") != "TemplateProcessing" || !single.is_array() || single.empty()) continue;
    const std::string first = text(part(single[0], "SpecialToken"), "id");
    for (size_t id = 0; id < data.tokens.size() && !first.empty() && data.begin < 0; ++id)
      if (data.tokens[id] == first) data.begin = static_cast<int64_t>(id);
    data.adds_begin = data.begin >= 0;
  }
}

}  // namespace

TokenizerData tokenizer_of_json(const json& tokenizer, const json& config, int64_t vocabulary) {
  TokenizerData data;
  data.model = model_of_text(tokenizer);
  data.split = split_of(tokenizer);
  data.chat_template = text(config, "chat_template");
  if (data.model != "gpt2") return data;
  read_tokens(tokenizer, vocabulary, data);
  read_merges(tokenizer, data);
  read_begin(tokenizer, data);
  return data;
}

}  // namespace deepgap
