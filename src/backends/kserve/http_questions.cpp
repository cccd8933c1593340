// Asks a server the questions over HTTP.
#include "backends/http/http.h"
#include "backends/http/redaction.h"
#include "backends/kserve/questions.h"
#include "base/parse_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace deepgap {
namespace {

constexpr size_t most_metadata = 4'000'000;

class HttpQuestions final : public Questions {
 public:
  HttpQuestions(const ServerAddress& address, ModelName name, const KserveSettings& settings)
      : Questions(address, std::move(name), settings), request_(address, most_metadata) {}

 private:
  std::optional<RequestError> get(const std::string& path) {
    request_.get(path, settings().timeout);
    return request_.perform();
  }

  std::optional<RequestError> server() override {
    if (auto request_error = get("/v2")) return request_error;
    if (is_page()) refuse("answers with an HTML page: a proxy or another service, not a KServe v2 server");
    take(read_server);
    return std::nullopt;
  }
  std::optional<RequestError> ready() override { return get(model_path(model().name) + "/ready"); }
  std::optional<RequestError> metadata() override {
    if (auto request_error = get(model_path(model().name))) return request_error;
    take(read_model);
    return std::nullopt;
  }
  void config() override {
    if (!get(model_path(model().name) + "/config")) read_config(request_.body().json(), model());
  }

  std::optional<Listed> listed() override {
    request_.post("/v2/repository/index", "{}", std::nullopt, settings().timeout);
    if (request_.perform()) return std::nullopt;
    const auto index = parse_json(answer());
    if (!index.is_array()) return std::nullopt;
    Listed found;
    for (const nlohmann::json& row : index) {
      if (!row.is_object() || !row.contains("name") || !row["name"].is_string()) continue;
      found.names.insert(row["name"]);
      if (row["name"] == model().name.name && row.contains("version") && row["version"].is_string()) found.versions.insert(row["version"]);
    }
    return found;
  }

  [[noreturn]] void other_server(const RequestError& request_error) override {
    if (request_.status() == 401 || request_.status() == 403) refuse(request_error.what + token_hint);
    if (is_page())
      refuse(fmt::format("{} with an HTML page: a proxy or another service, not a KServe v2 server",
                         request_error.what.substr(0, request_error.what.find(':'))));
    if (request_.status() != 404) refuse(fmt::format("/v2 {}", request_error.what));
    if (!get("/v1/models") && parse_json(request_.body().json()).is_object()) refuse("speaks KServe v1 alone; deepgap speaks v2");
    refuse("not a KServe v2 server: /v2 answered 404");
  }

  // Errors in the answer are reported with this server's name.
  void take(void (*read)(std::string_view, ServedModel&)) {
    try {
      read(answer(), model());
    } catch (const Error& error) {
      refuse(error.what());
    }
  }

  std::string answer() const { return without_token(request_.body().json(), address().token); }
  bool is_page() const { return request_.content_type().find("html") != std::string::npos || request_.body().json().starts_with('<'); }

  HttpRequest request_;
};

}  // namespace

ServedModel ask_for_model_by_http(const ServerAddress& address, const std::string& model, const KserveSettings& settings) {
  return HttpQuestions(address, model_name(model), settings).ask();
}

}  // namespace deepgap
