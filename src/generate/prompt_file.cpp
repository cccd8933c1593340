#include "generate/prompt_file.h"

#include "base/dump_json.h"
#include "base/parse_json.h"
#include "base/text.h"
#include "base/words.h"
#include "generate/lengths.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

namespace deepgap {
namespace {

using json = nlohmann::json;

// The place in the file where something is wrong.
struct Place {
  const std::string& path;
  int64_t line = 0;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, fmt::format("{}:{}: {}", path, line, one_line(what)));
  }
};

std::string text_of(const json& object, const char* key, const Place& place) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) place.fail(fmt::format("expected an object with the text \"{}\"", key));
  return found->get<std::string>();
}

std::string role_of(const std::string& name, const Place& place) {
  if (name == "human" || name == "user") return "user";
  if (name == "gpt" || name == "assistant" || name == "bard" || name == "bing" || name == "chatgpt") return "assistant";
  if (name == "system") return "system";
  place.fail(fmt::format("unknown role '{}': expected human, gpt, user, assistant or system", name));
}

// An answer's length where the file has its text: four characters of English are about a token.
int64_t tokens_of(const std::string& text) {
  return std::clamp<int64_t>(std::llround(static_cast<double>(text.size()) / 4), 1, Lengths::most);
}

// The JSON array of the messages so far, and where in it the first user's words begin.
Prompt conversation_of(const json& messages) {
  Prompt prompt;
  prompt.is_conversation = true;
  prompt.text = "[";
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string content = dump_line(messages[i]["content"]);
    prompt.text += fmt::format(R"({}{{"role":"{}","content":)", i == 0 ? "" : ",", messages[i]["role"].get<std::string>());
    if (prompt.unique_at == 0 && messages[i]["role"] == "user") prompt.unique_at = static_cast<int64_t>(prompt.text.size()) + 1;
    prompt.text += content + "}";
  }
  prompt.text += "]";
  return prompt;
}

// A prompt for each turn of the user's, with all that was said before as the file has it. Ends where there are `most` prompts: each one
// repeats the conversation so far, so that all those of a long one would take the square of its length.
void add_turns(const json& list, const char* role_key, const char* text_key, const Place& place, size_t most,
               std::vector<Prompt>& prompts) {
  if (!list.is_array() || list.empty()) place.fail("expected a conversation of at least one message");
  json said = json::array();
  const size_t before = prompts.size();
  for (const json& message : list) {
    if (!message.is_object()) place.fail("expected each message to be an object");
    const std::string role = role_of(text_of(message, role_key, place), place), text = text_of(message, text_key, place);
    if (role == "assistant" && prompts.size() > before && prompts.back().output_tokens == 0) prompts.back().output_tokens = tokens_of(text);
    if (prompts.size() >= most) return;
    said.push_back({{"role", role}, {"content", text}});
    if (role == "user") prompts.push_back(conversation_of(said));
  }
}

std::string range_of_lengths() { return fmt::format("a number of tokens from 1 to {}", Lengths::most); }

int64_t number_of(const json& object, const char* key, const Place& place) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  const bool fits = found->is_number_unsigned() && found->get<uint64_t>() >= 1 && found->get<uint64_t>() <= uint64_t{Lengths::most};
  if (!fits) place.fail(fmt::format("expected \"{}\" to be {}", key, range_of_lengths()));
  return found->get<int64_t>();
}

void add_object(const json& object, const Place& place, size_t most, std::vector<Prompt>& prompts) {
  if (!object.is_object()) place.fail("expected an object with \"conversations\", \"messages\" or \"prompt\"");
  if (object.contains("conversations")) {
    const json& list = object["conversations"];
    if (list.is_array() && list.empty()) return;  // as ShareGPT has some
    return add_turns(list, "from", "value", place, most, prompts);
  }
  if (object.contains("messages")) return add_turns(object["messages"], "role", "content", place, most, prompts);
  Prompt prompt;
  prompt.text = text_of(object, "prompt", place);
  prompt.output_tokens = number_of(object, "output_tokens", place);
  prompts.push_back(std::move(prompt));
}

json parsed(const std::string& text, const Place& place) {
  json object = parse_json(text);
  if (object.is_discarded()) place.fail("invalid JSON");
  return object;
}

// The columns of a trace by their titles, in any case and order.
struct TraceColumns {
  size_t request = SIZE_MAX, response = SIZE_MAX;
};

TraceColumns columns_of(const std::string& header, const Place& place) {
  TraceColumns columns;
  const std::vector<std::string> titles = split(header, ',');
  for (size_t i = 0; i < titles.size(); ++i) {
    std::string title = trim(titles[i]);
    std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return c == '_' ? ' ' : std::tolower(c); });
    if (title == "request tokens" || title == "input tokens" || title == "contexttokens") columns.request = i;
    if (title == "response tokens" || title == "output tokens" || title == "generatedtokens") columns.response = i;
  }
  if (columns.request == SIZE_MAX || columns.response == SIZE_MAX)
    place.fail("expected the columns of a trace, \"Request tokens\" and \"Response tokens\", in the first line");
  return columns;
}

// A response of no token is one that failed where the trace was taken.
void add_row(const std::string& line, const TraceColumns& columns, const Place& place, std::vector<Prompt>& prompts) {
  const std::vector<std::string> cells = split(line, ',');
  const auto cell = [&](size_t column) {
    const auto number = column < cells.size() ? parse_int(trim(cells[column])) : std::nullopt;
    if (!number || *number < 0 || *number > Lengths::most) place.fail("expected " + range_of_lengths());
    return std::max<int64_t>(*number, 1);
  };
  Prompt prompt;
  prompt.input_tokens = cell(columns.request);
  prompt.output_tokens = cell(columns.response);
  prompts.push_back(std::move(prompt));
}

void read_lines(const std::string& path, const std::string& kind, size_t most, std::vector<Prompt>& prompts) {
  std::ifstream file(path);
  std::string line;
  std::optional<TraceColumns> columns;
  for (Place place{path, 1}; prompts.size() < most && std::getline(file, line); ++place.line) {
    line = trim(line);
    if (line.empty()) continue;
    if (kind == ".txt") {
      prompts.push_back({.text = line});
    } else if (kind == ".csv" && !columns) {
      columns = columns_of(line, place);
    } else if (kind == ".csv") {
      add_row(line, *columns, place, prompts);
    } else {
      add_object(parsed(line, place), place, most, prompts);
    }
  }
}

// One array of conversations, as ShareGPT's file is.
void read_array(const std::string& path, size_t most, std::vector<Prompt>& prompts) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Place place{path, 1};
  const json list = parsed(text, place);
  if (!list.is_array()) return add_object(list, place, most, prompts);
  for (const json& object : list) {
    if (prompts.size() >= most) return;
    add_object(object, place, most, prompts);
  }
}

}  // namespace

std::vector<Prompt> read_prompts(const std::string& path, int64_t most) {
  const std::string kind = std::filesystem::path(path).extension().string();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw Error(ErrorKind::input, fmt::format("there is no file of prompts {}", path));
  std::vector<Prompt> prompts;
  const auto limit = static_cast<size_t>(most);
  if (kind == ".json") {
    read_array(path, limit, prompts);
  } else if (kind == ".txt" || kind == ".jsonl" || kind == ".csv") {
    read_lines(path, kind, limit, prompts);
  } else {
    throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for prompts: expected a file .txt, .jsonl, .json or .csv", path));
  }
  if (prompts.empty()) throw Error(ErrorKind::input, fmt::format("{}: no prompt is in it", path));
  if (prompts.size() > limit) prompts.resize(limit);
  return prompts;
}

}  // namespace deepgap
