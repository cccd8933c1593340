#include "backends/openai/questions.h"

#include "backends/http/http.h"
#include "backends/http/redaction.h"
#include "backends/openai/request.h"
#include "backends/openai/token_answer.h"
#include "base/parse_json.h"
#include "base/text.h"
#include "base/words.h"

#include <deepgap/error.h>
#include <deepgap/generate.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

namespace deepgap {
namespace {

using json = nlohmann::json;

constexpr size_t most_answer = 4'000'000;
constexpr const char* token_hint = "; a token goes into token_file or DEEPGAP_OPENAI_TOKEN";

[[noreturn]] void refuse(const ServerAddress& address, const std::string& why) {
  throw Error(ErrorKind::refused, fmt::format("{}: {}", address.base, why));
}

bool is_page(const HttpRequest& request) {
  return request.content_type().find("html") != std::string::npos || request.body().json().starts_with('<');
}

json parsed(const HttpRequest& request, const ServerAddress& address) {
  return parse_json(without_token(request.body().json(), address.token));
}

std::vector<std::string> names_of(const json& list) {
  std::vector<std::string> names;
  if (!list.is_object() || !list.contains("data") || !list["data"].is_array()) return names;
  for (const json& row : list["data"])
    if (row.is_object() && row.contains("id") && row["id"].is_string()) names.push_back(printable(row["id"].get<std::string>()));
  return names;
}

// The listed name that `model` stands for: itself, or the end of a path.
std::string listed_name(const std::vector<std::string>& names, const std::string& model) {
  for (const std::string& name : names)
    if (name == model) return name;
  for (const std::string& name : names) {
    const std::filesystem::path path(name);
    if (path.filename() == model || path.stem() == model) return name;
  }
  return {};
}

// Asks /v1/models until the server answers, as long as ready_within says.
std::optional<RequestError> ask_for_models(HttpRequest& request, const OpenaiSettings& settings) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::nanoseconds(settings.ready_within);
  for (;;) {
    request.get("/v1/models", settings.timeout);
    auto request_error = request.perform();
    const bool may_come = request_error && (request_error->kind == RequestError::Kind::refused || request.status() == 503);
    if (!may_come || Clock::now() >= end) return request_error;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::string version_of(HttpRequest& request, const ServerAddress& address, const OpenaiSettings& settings) {
  const std::string server = one_line(request.server(), 60);
  for (const auto& [path, key] : {std::pair{"/version", "version"}, std::pair{"/props", "build_info"}}) {
    request.get(path, settings.timeout);
    if (request.perform()) continue;
    const json answer = parsed(request, address);
    if (answer.is_object() && answer.contains(key) && answer[key].is_string())
      return fmt::format("{} {}", server.empty() ? "server" : server, one_line(answer[key].get<std::string>(), 60));
  }
  return server.empty() ? "a server that does not report its name" : server;
}

// Describes what came back instead of a stream.
std::string no_stream(const HttpRequest& request) {
  if (is_page(request)) return "answers with an HTML page: a proxy or another service, no server of OpenAI's protocol";
  const json answer = parse_json(request.body().json());
  if (answer.is_object() && answer.contains("choices"))
    return "does not stream: it sends the whole answer at once, so that no token has a time";
  return fmt::format("sends no stream of events (content type '{}')", one_line(request.content_type(), 60));
}

// Some servers (llama.cpp's of 2026) close a connection after a stream although they announced to keep it, so that the next request on it
// would be lost. Another small question on the connection of `request` shows that.
bool keeps_connections(HttpRequest& request, Nanoseconds timeout) {
  request.get("/v1/models", timeout);
  const auto request_error = request.perform();
  const bool is_lost = request_error && request_error->kind == RequestError::Kind::reset;
  return !is_lost && request.traffic().connections == 0;
}

}  // namespace

ServedGenerator ask_for_generator(const ServerAddress& address, const std::string& model, const OpenaiSettings& settings) {
  HttpRequest request(address, most_answer);
  ServedGenerator served{model, ""};
  const auto request_error = ask_for_models(request, settings);
  if (request_error && (request.status() == 401 || request.status() == 403)) refuse(address, request_error->what + token_hint);
  if (request_error && request_error->kind == RequestError::Kind::refused)
    refuse(address, request_error->what + (settings.ready_within == 0 ? "; if the server is starting, add ready_within=60s" : ""));
  if (is_page(request)) refuse(address, "answers with an HTML page: a proxy or another service, no server of OpenAI's protocol");
  if (request_error && request.status() != 404 && request.status() != 405) refuse(address, "/v1/models " + request_error->what);
  if (!request_error) {
    const json list = parsed(request, address);
    const std::vector<std::string> names = names_of(list);
    if (!list.is_object() || !list.contains("data")) refuse(address, "/v1/models is not a list of models of OpenAI's protocol");
    served.model = listed_name(names, model);
    if (served.model.empty()) throw Error(ErrorKind::usage, fmt::format("{}: {}", address.base, unknown_name("model", model, names)));
  }
  served.server = version_of(request, address, settings);
  return served;
}

StreamCheck check_stream(const ServerAddress& address, const std::string& model, bool is_chat, const OpenaiSettings& settings) {
  constexpr std::string_view word = "Hi";
  const std::array<int64_t, prompt_fields> fields{1, 0, -1};
  const Shape text_shape{1, static_cast<int64_t>(word.size())}, fields_shape{1, static_cast<int64_t>(prompt_fields)};
  const std::vector<TensorView> sample{{DataType::u8, text_shape, reinterpret_cast<const std::byte*>(word.data())},
                                       {DataType::i64, fields_shape, reinterpret_cast<const std::byte*>(fields.data())}};
  StreamCheck check{.takes_vendor_fields = settings.vendor_fields};
  OpenaiSettings asked = settings;
  asked.endpoint = is_chat ? Endpoint::chat : Endpoint::completions;
  for (;;) {
    const PromptBody body = prompt_body(sample, model, asked);
    const std::string text = body.head + body.tail;
    HttpRequest request(address, most_answer);
    TokenAnswer answer;
    answer.begin(1);
    bool streams = false;
    request.stream("text/event-stream", [&](std::string_view piece) {
      streams = true;
      return answer.take(piece, 0);
    });
    request.post(endpoint_path(is_chat), text, std::nullopt, settings.timeout);
    const auto request_error = request.perform();
    if (request_error && request.status() == 400 && asked.vendor_fields) {  // once more, as OpenAI's own server wants it
      asked.vendor_fields = check.takes_vendor_fields = false;
      asked.ignore_end = false;
      continue;
    }
    if (request_error && (request.status() == 401 || request.status() == 403)) refuse(address, request_error->what + token_hint);
    if (request_error) refuse(address, fmt::format("{} {}", endpoint_path(is_chat), request_error->what));
    if (!streams) refuse(address, fmt::format("{} {}", endpoint_path(is_chat), no_stream(request)));
    if (const std::string why = answer.finish(0); !why.empty()) refuse(address, fmt::format("{}: {}", endpoint_path(is_chat), why));
    check.keeps_connections = keeps_connections(request, settings.timeout);
    if (is_chat && answer.counts().input > 0) check.template_tokens = answer.counts().input - 1;
    return check;
  }
}

}  // namespace deepgap
