// The questions that a server is asked before anything is measured, and what is wrong where it does not answer them.
#include "backends/kserve/http.h"
#include "backends/kserve/served_model.h"
#include "base/text.h"
#include "base/words.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

namespace deepgap {
namespace {

constexpr size_t most_metadata = 4'000'000;

class Questions {
 public:
  Questions(const ServerAddress& address, ModelName name, const KserveSettings& settings)
      : address_(address),
        settings_(settings),
        request_(address, most_metadata),
        end_(Clock::now() + std::chrono::nanoseconds(settings.ready_within)) {
    model_.name = std::move(name);
  }

  ServedModel ask() {
    require_server();
    require_ready();
    get(model_path(model_.name));
    if (fault_) unknown_model();
    take(read_model);
    get(model_path(model_.name) + "/config");
    if (!fault_) read_config(request_.body().json(), model_);
    return std::move(model_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void get(const std::string& path) {
    request_.get(path, settings_.timeout);
    fault_ = request_.perform();
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::refused, fmt::format("{}: {}", address_.base, printable(why)));
  }

  // What is wrong with the answer is said of this server.
  void take(void (*read)(std::string_view, ServedModel&)) {
    try {
      read(request_.body().json(), model_);
    } catch (const Error& error) {
      refuse(error.what());
    }
  }

  // While it starts: whether to ask again.
  bool may_wait() const {
    if (Clock::now() >= end_) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return true;
  }

  void require_server() {
    do get("/v2");
    while (fault_ && fault_->kind != Fault::Kind::tls && may_wait());
    using enum Fault::Kind;
    if (fault_ && fault_->kind == http_status) return other_server();
    if (fault_) refuse(fmt::format("{}{}", fault_->what, fault_->kind == refused || fault_->kind == reset ? waiting_hint() : ""));
    if (is_page()) refuse("answers with an HTML page: a proxy or another service, no KServe v2 server");
    take(read_server);
  }

  std::string waiting_hint() const {
    return settings_.ready_within > 0 ? fmt::format(", for {}", format_duration(settings_.ready_within))
                                      : "; if it is still starting, --axis ready_within=60s waits for it";
  }

  bool is_page() const { return request_.content_type().find("html") != std::string::npos || request_.body().json().starts_with('<'); }

  void other_server() {
    const std::string said = fault_->what;
    if (request_.status() == 401 || request_.status() == 403)
      refuse(fmt::format("{}; a token goes into token_file or DEEPGAP_KSERVE_TOKEN", said));
    if (is_page())
      refuse(fmt::format("{} with an HTML page: a proxy or another service, no KServe v2 server", said.substr(0, said.find(':'))));
    if (request_.status() != 404) refuse(fmt::format("/v2 {}", said));
    get("/v1/models");
    if (!fault_ && nlohmann::json::parse(request_.body().json(), nullptr, false).is_object())
      refuse("speaks KServe v1 alone; deepgap speaks v2");
    refuse("no KServe v2 server: /v2 answered 404");
  }

  void require_ready() {
    const std::string path = model_path(model_.name) + "/ready";
    do get(path);
    while (fault_ && may_wait());
    if (!fault_) return;
    if (fault_->kind != Fault::Kind::http_status) refuse(fault_->what);
    require_known();
    refuse(fmt::format("{} is not ready: {}{}", text(), fault_->what, waiting_hint()));
  }

  std::string text() const { return model_.name.version.empty() ? model_.name.name : model_.name.name + ":" + model_.name.version; }

  // Where the server lists its models, which Triton and MLServer do.
  void require_known() {
    const std::optional<Fault> not_ready = fault_;
    request_.post("/v2/repository/index", "{}", std::nullopt, settings_.timeout);
    const bool listed = !request_.perform();
    fault_ = not_ready;
    const nlohmann::json index = listed ? nlohmann::json::parse(request_.body().json(), nullptr, false) : nlohmann::json();
    if (!index.is_array()) return;
    std::set<std::string> names, versions;
    for (const nlohmann::json& row : index) {
      if (!row.is_object() || !row.contains("name") || !row["name"].is_string()) continue;
      names.insert(row["name"]);
      if (row["name"] == model_.name.name && row.contains("version") && row["version"].is_string()) versions.insert(row["version"]);
    }
    if (!names.contains(model_.name.name))
      throw Error(ErrorKind::usage,
                  printable(fmt::format("{}: {}", address_.base, unknown_name("model", model_.name.name, {names.begin(), names.end()}))));
    versions.erase("");
    if (!model_.name.version.empty() && !versions.empty() && !versions.contains(model_.name.version))
      throw Error(ErrorKind::usage, printable(fmt::format("{}: {} has no version {}; it has {}", address_.base, model_.name.name,
                                                          model_.name.version, join({versions.begin(), versions.end()}, ", "))));
  }

  [[noreturn]] void unknown_model() {
    if (fault_->kind != Fault::Kind::http_status) refuse(fault_->what);
    require_known();
    throw Error(ErrorKind::usage, printable(fmt::format("{}: no model {}: {}", address_.base, text(), fault_->what)));
  }

  const ServerAddress& address_;
  const KserveSettings& settings_;
  HttpRequest request_;
  Clock::time_point end_;
  ServedModel model_;
  std::optional<Fault> fault_;  // of the last question
};

}  // namespace

ServedModel ask_for_model(const ServerAddress& address, const std::string& model, const KserveSettings& settings) {
  return Questions(address, model_name(model), settings).ask();
}

}  // namespace deepgap
