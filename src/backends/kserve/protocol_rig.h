// For tests: what they do by whichever protocol a scripted server is asked. A Protocol names the types Script, Server, Request and Reply,
// the schemes of its addresses, the places `infer` and `ready` of requests, and how a server is silent or not ready yet (by_http.h).
#pragma once

#include "backends/kserve/kserve_rig.h"
#include "base/test_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace deepgap {

using Options = std::map<std::string, std::string>;

template <typename Protocol>
EngineRequest request_by(const std::string& host, Options options = {}, int64_t batch = 1) {
  options.merge(Protocol::options());
  return request_to(host, std::move(options), batch, Protocol::scheme);
}

template <typename Protocol>
class RigBy : public Rig {
 public:
  explicit RigBy(const std::string& host, Options options = {}, int64_t batch = 2)
      : Rig(host, request_by<Protocol>(host, std::move(options)).options, batch, Protocol::scheme) {}
};

// A model that answers requests at `place` so.
template <typename Protocol>
typename Protocol::Script instead_of(const std::string& place, const typename Protocol::Reply& reply) {
  typename Protocol::Script script;
  script.instead = [=](const typename Protocol::Request& request) {
    return Protocol::place(request) == place ? std::optional(reply) : std::nullopt;
  };
  return script;
}

// Returns the error that a server of this script causes when its model is asked for.
template <typename Protocol>
Error refusal(typename Protocol::Script script, const std::string& model = "double", Options options = {}) {
  typename Protocol::Server server(std::move(script));
  KserveBackend backend;
  return failure_of([&] { backend.remote_model(model, request_by<Protocol>(server.host(), std::move(options))); });
}

// A query is answered, the next one so, and the one behind that as the first.
template <typename Protocol>
void expect_told_and_the_next_answered(const typename Protocol::Reply& misdeed, const std::string& says) {
  std::atomic<bool> broken = false;
  typename Protocol::Script script;
  script.instead = [&](const typename Protocol::Request& request) -> std::optional<typename Protocol::Reply> {
    if (Protocol::place(request) != Protocol::infer || !broken.exchange(false)) return std::nullopt;
    return misdeed;
  };
  typename Protocol::Server server{script};
  RigBy<Protocol> rig(server.host(), {{"timeout", "300ms"}});
  EXPECT_EQ(rig.fate(), "ok");
  broken = true;
  EXPECT_THAT(rig.fate(), testing::HasSubstr(says));
  EXPECT_EQ(server.seen_at(Protocol::infer), 2U) << "nothing is sent again";
  EXPECT_EQ(rig.fate(), "ok");
  EXPECT_THAT(rig.floats(0), testing::ElementsAre(0, 2, 4));
  EXPECT_TRUE(rig.session->outlives_failures());
}

}  // namespace deepgap
