// The kserve backend over gRPC against a scripted server: what it asks, and what it answers with. What is the same by every protocol is in
// served_tests.h.
#include "backends/http/scripted_server.h"
#include "backends/kserve/grpc/by_grpc.h"
#include "backends/kserve/served_tests.h"
#include "base/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
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

INSTANTIATE_TYPED_TEST_SUITE_P(GrpcByCall, Served, ByGrpc);
INSTANTIATE_TYPED_TEST_SUITE_P(GrpcByStream, Served, ByGrpcStream);

template <typename Protocol>
class Grpc : public testing::Test {};
using Protocols = testing::Types<ByGrpc, ByGrpcStream>;
TYPED_TEST_SUITE(Grpc, Protocols);

TEST(GrpcModel, TellsTheLibraryThatAskedForIt) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  KserveBackend backend;
  EXPECT_THAT(backend.version(), AllOf(HasSubstr("libcurl"), HasSubstr("gRPC 1.")));
  backend.remote_model("double", request_by<ByGrpc>(server.host()));
  EXPECT_THAT(backend.version(), AllOf(HasSubstr("gRPC 1."), HasSubstr("scripted 7"), testing::Not(HasSubstr("libcurl"))));
}

TYPED_TEST(Grpc, AnswersQueries) {
  for (const bool raw : {true, false}) {
    ScriptedGrpcModel script;
    script.raw = raw;
    ScriptedGrpcServer server{script};
    RigBy<TypeParam> rig(server.host());
    EXPECT_EQ(rig.fate({1, 2}), "ok");
    EXPECT_THAT(rig.floats(0), ElementsAre(20, 22, 24, 40, 42, 44));
    EXPECT_EQ(rig.session->outputs(0)[0].shape[0], 2);
    EXPECT_EQ(rig.fate({3}), "ok");
    EXPECT_THAT(rig.floats(0), ElementsAre(60, 62, 64));
  }
}

TYPED_TEST(Grpc, DoesNotCountBytesOfHeaders) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  RigBy<TypeParam> rig(server.host());
  rig.run(0, {0});
  EXPECT_FALSE(rig.session->take_counts().contains("header_bytes")) << "the library does not tell them";
}

TEST(GrpcChannels, ShareTheSlots) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  BreakableRelay relay(server.port());
  RigBy<ByGrpc> rig(relay.host(), {{"channels", "3"}});
  const size_t asked = relay.connections();
  for (int slot = 0; slot < 4; ++slot) rig.run(slot, {0});
  EXPECT_EQ(relay.connections() - asked, 3U);
  EXPECT_EQ(rig.session->take_counts().at("connections.opened"), 3);
}

TEST(GrpcStreams, AreKept) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  RigBy<ByGrpcStream> rig(server.host());
  rig.run(0, {0});
  const size_t calls = server.calls();
  for (int i = 0; i < 10; ++i) rig.run(0, {1});
  EXPECT_EQ(server.calls(), calls);
  EXPECT_EQ(server.seen_at(ByGrpcStream::infer), 11U);
}

TYPED_TEST(Grpc, ATokenGoesToTheServerAlone) {
  const TemporaryFolder folder;
  std::ofstream(folder / "token") << "s3cret-word\n";
  ScriptedGrpcServer server{instead_of<TypeParam>(TypeParam::infer, {.status = {grpc::StatusCode::UNAUTHENTICATED, "who are you"}})};
  RigBy<TypeParam> rig(server.host(), {{"token_file", folder / "token"}});
  EXPECT_THAT(rig.fate(), AllOf(HasSubstr("answered UNAUTHENTICATED: who are you"), testing::Not(HasSubstr("s3cret"))));
  for (const ScriptedCall& call : server.seen()) EXPECT_EQ(call.metadata.at("authorization"), "Bearer s3cret-word") << call.method;
}

TYPED_TEST(Grpc, ATokenThatTheServerRepeatsIsNotShown) {
  const TemporaryFolder folder;
  std::ofstream(folder / "token") << "s3cret/word-of-many-letters";
  const auto said = [&](const std::string& method, const std::string& before) -> std::string {
    typename TypeParam::Script script;
    script.instead = [&](const ScriptedCall& call) -> std::optional<ScriptedAnswer> {
      if (call.method != method) return std::nullopt;
      const std::string words = before + call.metadata.at("authorization");
      if (method == "ModelStreamInfer" && before.empty()) return ScriptedGrpcModel::stream_error(words);
      return ScriptedAnswer{.status = {grpc::StatusCode::INTERNAL, words}};
    };
    ScriptedGrpcServer server{script};
    try {
      RigBy<TypeParam> rig(server.host(), {{"token_file", folder / "token"}});
      return rig.fate();
    } catch (const Error& error) {
      return error.what();
    }
  };
  for (const char* method : {"ServerMetadata", "ModelReady", "ModelMetadata", TypeParam::infer}) {
    for (const size_t before : {0U, 120U, 140U, 155U, 630U})
      EXPECT_THAT(said(method, std::string(before, 'x')),
                  AllOf(testing::Not(HasSubstr("s3cret")), testing::Not(HasSubstr("many-letters"))));
    EXPECT_THAT(said(method, ""), HasSubstr("Bearer [redacted]")) << method;
  }
}

TYPED_TEST(Grpc, NamesThatHoldTheTokenAreShownWithoutIt) {
  const TemporaryFolder folder;
  std::ofstream(folder / "token") << "s3cret-word";
  typename TypeParam::Script script;
  script.instead = [&](const ScriptedCall& call) -> std::optional<ScriptedAnswer> {
    if (call.method == "ServerMetadata") {
      inference::ServerMetadataResponse told;
      told.set_name("echo of " + call.metadata.at("authorization"));
      return ScriptedGrpcModel::of(told);
    }
    if (call.method != "ModelMetadata") return std::nullopt;
    inference::ModelMetadataResponse told = ScriptedGrpcModel().metadata();
    told.mutable_inputs(0)->set_name(call.metadata.at("authorization"));
    return ScriptedGrpcModel::of(told);
  };
  ScriptedGrpcServer server{script};
  KserveBackend backend;
  const Graph graph = backend.remote_model("double", request_by<TypeParam>(server.host(), {{"token_file", folder / "token"}}));
  EXPECT_EQ(graph.values[0].name, "Bearer [redacted]");
  EXPECT_THAT(backend.version(), HasSubstr("echo of Bearer [redacted]"));
}

// The library tries again 0.1 s later at the earliest, and reports until then what it found.
std::string fate_in_the_end(Rig& rig, const std::string& wanted) {
  std::string fate;
  for (int i = 0; i < 1000; ++i) {
    if ((fate = rig.fate()) == wanted) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return fate;
}

TYPED_TEST(Grpc, AConnectionThatBreaksIsToldAndOpenedAgain) {
  ScriptedGrpcModel script;
  std::atomic<bool> broken = false;
  std::atomic<BreakableRelay*> breaks = nullptr;
  script.instead = [&](const ScriptedCall& call) -> std::optional<ScriptedAnswer> {
    if (call.method != TypeParam::infer || !broken.exchange(false)) return std::nullopt;
    breaks.load()->break_all();
    return ScriptedAnswer{.end = ScriptedAnswer::End::hang};
  };
  ScriptedGrpcServer server{script};
  BreakableRelay relay(server.port());
  breaks = &relay;
  RigBy<TypeParam> rig(relay.host());
  EXPECT_EQ(rig.fate(), "ok");
  broken = true;
  EXPECT_EQ(rig.fate(), "the connection was reset or closed before an answer");
  EXPECT_EQ(server.seen_at(TypeParam::infer), 2U) << "nothing is sent again";
  EXPECT_EQ(fate_in_the_end(rig, "ok"), "ok");
  EXPECT_EQ(rig.session->take_counts().at("connections.opened"), 2);
}

TYPED_TEST(Grpc, AServerThatStoppedRefusesAndOneThatStartsAgainAnswers) {
  auto server = std::make_unique<ScriptedGrpcServer>(ScriptedGrpcModel());
  const int port = server->port();
  RigBy<TypeParam> rig(server->host());
  EXPECT_EQ(rig.fate(), "ok");
  server->stop();
  EXPECT_NE(rig.fate(), "ok");
  EXPECT_EQ(fate_in_the_end(rig, "connection refused"), "connection refused");
  server = std::make_unique<ScriptedGrpcServer>(ScriptedGrpcModel(), port);
  EXPECT_EQ(fate_in_the_end(rig, "ok"), "ok");
  EXPECT_THAT(rig.floats(0), ElementsAre(0, 2, 4));
}

TYPED_TEST(Grpc, ARequestOverTheServersLimitIsToldByTheServer) {
  ScriptedGrpcModel script;
  script.instead = [](const ScriptedCall&) { return std::nullopt; };
  ScriptedGrpcServer server{script};
  RigBy<TypeParam> rig(server.host(), {}, 100'000);
  EXPECT_THAT(rig.fate(std::vector<uint32_t>(100'000, 0)), AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("larger than max")));
  EXPECT_EQ(rig.fate(), "ok");
}

TEST(GrpcModel, NoProxyOfTheEnvironmentIsUsed) {
  ScriptedServer proxy{[](const ScriptedRequest&) { return ScriptedReply{}; }};
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  for (const char* name : {"grpc_proxy", "https_proxy", "http_proxy"}) ::setenv(name, proxy.url().c_str(), 1);
  KserveBackend backend;
  EXPECT_EQ(backend.remote_model("double", request_by<ByGrpc>(server.host())).inputs.size(), 1U);
  for (const char* name : {"grpc_proxy", "https_proxy", "http_proxy"}) ::unsetenv(name);
  EXPECT_TRUE(proxy.seen().empty());
}

}  // namespace
}  // namespace deepgap
