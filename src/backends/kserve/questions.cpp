#include "backends/kserve/questions.h"

#include "base/text.h"
#include "base/words.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <thread>
#include <utility>

namespace deepgap {

const char* const token_hint = "; a token goes into token_file or DEEPGAP_KSERVE_TOKEN";

Questions::Questions(const ServerAddress& address, ModelName name, const KserveSettings& settings)
    : address_(address), settings_(settings), end_(Clock::now() + std::chrono::nanoseconds(settings.ready_within)) {
  model_.name = std::move(name);
}

ServedModel Questions::ask() {
  require_server();
  require_ready();
  require_metadata();
  config();
  return std::move(model_);
}

void Questions::refuse(const std::string& why) const {
  throw Error(ErrorKind::refused, fmt::format("{}: {}", address_.base, printable(why)));
}

// Returns whether to ask again while the server starts.
bool Questions::may_wait() const {
  if (Clock::now() >= end_) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return true;
}

std::string Questions::waiting_hint() const {
  return settings_.ready_within > 0 ? fmt::format(", for {}", format_duration(settings_.ready_within))
                                    : "; if it is still starting, --axis ready_within=60s waits for it";
}

std::string Questions::text() const {
  return model_.name.version.empty() ? model_.name.name : model_.name.name + ":" + model_.name.version;
}

void Questions::require_server() {
  using enum RequestError::Kind;
  std::optional<RequestError> request_error = server();
  while (request_error && request_error->kind != tls && may_wait()) request_error = server();
  if (!request_error) return;
  if (request_error->kind == status) other_server(*request_error);
  refuse(request_error->what + (request_error->kind == refused || request_error->kind == reset ? waiting_hint() : ""));
}

void Questions::require_ready() {
  std::optional<RequestError> request_error = ready();
  while (request_error && may_wait()) request_error = ready();
  if (!request_error) return;
  if (request_error->kind != RequestError::Kind::status) refuse(request_error->what);
  require_listed();
  refuse(fmt::format("{} is not ready: {}{}", text(), request_error->what, waiting_hint()));
}

void Questions::require_metadata() {
  const std::optional<RequestError> request_error = metadata();
  if (!request_error) return;
  if (request_error->kind != RequestError::Kind::status) refuse(request_error->what);
  require_listed();
  throw Error(ErrorKind::usage, printable(fmt::format("{}: no model {}: {}", address_.base, text(), request_error->what)));
}

// Where the server lists its models, which Triton and MLServer do.
void Questions::require_listed() {
  const std::optional<Listed> known = listed();
  if (!known) return;
  const ModelName& name = model_.name;
  if (!known->names.contains(name.name))
    throw Error(ErrorKind::usage, printable(fmt::format("{}: {}", address_.base,
                                                        unknown_name("model", name.name, {known->names.begin(), known->names.end()}))));
  std::set<std::string> versions = known->versions;
  versions.erase("");
  if (!name.version.empty() && !versions.empty() && !versions.contains(name.version))
    throw Error(ErrorKind::usage, printable(fmt::format("{}: {} has no version {}; it has {}", address_.base, name.name, name.version,
                                                        join({versions.begin(), versions.end()}, ", "))));
}

}  // namespace deepgap
