// Questions: what a server is asked before anything is measured, in its order, and what is said where it does not answer. How each question
// is asked is a protocol's own.
#pragma once

#include "backends/http/request_error.h"
#include "backends/kserve/served_model.h"

#include <chrono>
#include <optional>
#include <set>
#include <string>

namespace deepgap {

class Questions {
 public:
  // Address and settings outlive it.
  Questions(const ServerAddress& address, ModelName name, const KserveSettings& settings);
  virtual ~Questions() = default;
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  // Throws Error{refused} for a server that is not there, none of KServe v2, or not ready; {usage} for a model that it does not have.
  ServedModel ask();

 protected:
  // A server's list: names of models, and versions of the one that is asked for.
  struct Listed {
    std::set<std::string> names, versions;
  };
  // Each asks once. What is learnt goes to model(); throws Error{refused} for an answer that is not KServe v2.
  virtual std::optional<RequestError> server() = 0;
  virtual std::optional<RequestError> ready() = 0;
  virtual std::optional<RequestError> metadata() = 0;
  virtual void config() = 0;                   // does nothing if the server has none
  virtual std::optional<Listed> listed() = 0;  // nullopt: it lists none
  // The server answered server() with a status: says what it is instead.
  [[noreturn]] virtual void other_server(const RequestError& request_error) = 0;

  [[noreturn]] void refuse(const std::string& why) const;
  ServedModel& model() { return model_; }
  const ServerAddress& address() const { return address_; }
  const KserveSettings& settings() const { return settings_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool may_wait() const;
  std::string waiting_hint() const;
  std::string text() const;
  void require_server();
  void require_ready();
  void require_metadata();
  void require_listed();

  const ServerAddress& address_;
  const KserveSettings& settings_;
  Clock::time_point end_;
  ServedModel model_;
};

// "; a token goes into token_file or DEEPGAP_KSERVE_TOKEN": behind what a server says that wants to know who asks.
extern const char* const token_hint;

}  // namespace deepgap
