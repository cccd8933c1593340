// The kserve backend over HTTP against a scripted server: what it asks, and what it answers with.
#include "backends/kserve/by_http.h"
#include "backends/kserve/served_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

INSTANTIATE_TYPED_TEST_SUITE_P(Http, Served, ByHttp);

TEST(Kserve, TellsTheLibraryAndTheServer) {
  ScriptedServer server{ScriptedModel()};
  KserveBackend backend;
  backend.remote_model("double", request_by<ByHttp>(server.host()));
  EXPECT_THAT(backend.version(), AllOf(HasSubstr("libcurl"), HasSubstr("scripted 7")));
}

TEST(Kserve, SendsTensorsAsBytesWhereTheServerTakesThem) {
  ScriptedServer server{ScriptedModel()};
  Rig rig(server.host());
  EXPECT_EQ(rig.fate({1, 2}), "ok");
  EXPECT_THAT(rig.floats(0), ElementsAre(20, 22, 24, 40, 42, 44));
  EXPECT_EQ(rig.session->outputs(0)[0].shape[0], 2);
  EXPECT_TRUE(server.seen().back().headers.contains("inference-header-content-length"));
}

TEST(Kserve, SendsJsonElse) {
  for (const bool told : {true, false}) {
    ScriptedModel script;
    script.binary = told;
    ScriptedServer server{script};
    Rig rig(server.host(), told ? std::map<std::string, std::string>{{"tensors", "json"}} : std::map<std::string, std::string>());
    EXPECT_EQ(rig.fate({3, 1}), "ok");
    EXPECT_THAT(rig.floats(0), ElementsAre(60, 62, 64, 20, 22, 24));
    EXPECT_FALSE(server.seen().back().headers.contains("inference-header-content-length"));
  }
}

TEST(Kserve, BytesOfHeadersAreCounted) {
  ScriptedServer server{ScriptedModel()};
  RigBy<ByHttp> rig(server.host());
  rig.session->take_counts();
  rig.run(0, {0});
  EXPECT_GT(rig.session->take_counts().at("header_bytes"), 0);
}

// With CURLOPT_MAXAGE_CONN 0 libcurl closes what has been idle for a second.
TEST(Kserve, AConnectionIsKeptHoweverLongItWasIdle) {
  ScriptedServer server{ScriptedModel()};
  Rig rig(server.host());
  EXPECT_EQ(rig.fate(), "ok");
  EXPECT_EQ(rig.session->take_counts().at("connections.opened"), 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_EQ(rig.fate(), "ok");
  EXPECT_EQ(rig.session->take_counts().at("connections.opened"), 0);
}

// No call to the Session is needed: answers come while the scenario's thread waits on its clock.
TEST(Kserve, AnswersAreTakenByWhoWaitsOnTheClock) {
  ScriptedServer server{ScriptedModel()};
  Rig rig(server.host());
  const Nanoseconds deadline = rig.clock->now() + 60'000'000'000;
  for (size_t i = 1; i <= 3; ++i) {
    rig.session->enqueue(0, std::vector<uint32_t>{1}, i);
    while (rig.statuses().size() < i && rig.clock->now() < deadline) rig.clock->wait_until(rig.clock->now() + 1'000'000);
    ASSERT_EQ(rig.statuses().size(), i);
    EXPECT_EQ(rig.floats(0)[1], 22);
  }
}

// Descriptors are used again, by connections and by the look-up of the name.
TEST(Kserve, ConnectionsThatTheServerClosesAreOpenedAgain) {
  ScriptedModel script;
  script.instead = [&](const ScriptedRequest& request) -> std::optional<ScriptedReply> {
    if (request.path != ByHttp::infer) return std::nullopt;
    ScriptedReply reply = script.answer(request);
    reply.end = ScriptedReply::End::close;
    return reply;
  };
  ScriptedServer server{[&](const ScriptedRequest& request) { return script(request); }};
  Rig rig("localhost:" + std::to_string(server.port()));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(rig.fate({1}), "ok");
  EXPECT_EQ(rig.session->take_counts().at("connections.opened"), 30);
}

TEST(Kserve, AServerThatStoppedRefusesAndOneThatStartsAgainAnswers) {
  auto server = std::make_unique<ScriptedServer>(ScriptedModel());
  const uint16_t port = server->port();
  Rig rig(server->host());
  EXPECT_EQ(rig.fate(), "ok");
  server->stop();
  EXPECT_NE(rig.fate(), "ok") << "of the kept connection";
  EXPECT_EQ(rig.fate(), "connection refused");
  EXPECT_EQ(rig.fate(), "connection refused");
  server = std::make_unique<ScriptedServer>(ScriptedModel(), port);
  EXPECT_EQ(rig.fate(), "ok");
  EXPECT_THAT(rig.floats(0), ElementsAre(0, 2, 4));
}

TEST(Kserve, ARequestIsNotSentAgainWhereAKeptConnectionTurnsOutClosed) {
  ScriptedModel script;
  int answers = 0;
  script.instead = [&](const ScriptedRequest& request) -> std::optional<ScriptedReply> {
    if (request.path != ByHttp::infer || ++answers != 1) return std::nullopt;
    ScriptedReply reply = script.answer(request);
    reply.drop_unsaid = true;
    return reply;
  };
  ScriptedServer server{[&](const ScriptedRequest& request) { return script(request); }};
  Rig rig(server.host());
  EXPECT_EQ(rig.fate(), "ok");
  const std::string second = rig.fate();
  // It is chance whether the client had seen the end of the connection before it sent: then it takes a new one, and nothing was lost.
  EXPECT_TRUE(second == "ok" || second.find("reset or closed") != std::string::npos) << second;
  EXPECT_EQ(server.seen_at(ByHttp::infer), second == "ok" ? 2U : 1U);
}

TEST(Kserve, NoProxyOfTheEnvironmentIsUsed) {
  ScriptedServer proxy{ScriptedModel()}, server{ScriptedModel()};
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  KserveBackend backend;
  EXPECT_EQ(backend.remote_model("double", request_by<ByHttp>(server.host())).inputs.size(), 1U);
  ::unsetenv("http_proxy");
  EXPECT_TRUE(proxy.seen().empty());
}

}  // namespace
}  // namespace deepgap
