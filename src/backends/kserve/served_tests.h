// Tests that hold for every protocol: http_test.cpp and grpc/grpc_test.cpp run them for theirs (protocol_rig.h).
#pragma once

#include "backends/kserve/protocol_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

template <typename Protocol>
class Served : public testing::Test {};
TYPED_TEST_SUITE_P(Served);

TYPED_TEST_P(Served, ModelIsToldAsAGraph) {
  typename TypeParam::Server server{typename TypeParam::Script()};
  KserveBackend backend;
  const Graph graph = backend.remote_model("double", request_by<TypeParam>(server.host()));
  ASSERT_EQ(graph.inputs.size(), 1U);
  const Value& input = graph.values[static_cast<size_t>(graph.inputs[0])];
  EXPECT_EQ(input.name, "x");
  EXPECT_EQ(input.type, DataType::f32);
  EXPECT_EQ(input.dims, (Dims{{1, batch_symbol}, {3, ""}}));
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[0])].name, "y");
  EXPECT_THAT(backend.version(), testing::HasSubstr("scripted 7"));
}

TYPED_TEST_P(Served, ModelTakesNoBatchOverTheServersMaximum) {
  typename TypeParam::Server server{typename TypeParam::Script()};
  KserveBackend backend;
  GraphSummary summary;
  summary.name = "double";
  backend.remote_model("double", request_by<TypeParam>(server.host()));
  EXPECT_TRUE(backend.supports(request_by<TypeParam>(server.host(), {}, 8), summary).ok);
  EXPECT_THAT(backend.supports(request_by<TypeParam>(server.host(), {}, 9), summary).reason,
              testing::HasSubstr("at most 8 samples a request"));
}

TYPED_TEST_P(Served, ModelIsWaitedForWhereItIsStarting) {
  int asked = 0;
  typename TypeParam::Script script;
  script.instead = [&](const typename TypeParam::Request& request) -> std::optional<typename TypeParam::Reply> {
    if (TypeParam::place(request) != TypeParam::ready || ++asked > 3) return std::nullopt;
    return TypeParam::not_ready();
  };
  typename TypeParam::Server server{script};
  KserveBackend backend;
  EXPECT_EQ(backend.remote_model("double", request_by<TypeParam>(server.host(), {{"ready_within", "60s"}})).inputs.size(), 1U);
  EXPECT_EQ(asked, 4);
}

TYPED_TEST_P(Served, RequestsConnectionsAndBytesAreCounted) {
  typename TypeParam::Server server{typename TypeParam::Script()};
  RigBy<TypeParam> rig(server.host());
  rig.session->take_counts();
  for (int i = 0; i < 20; ++i) rig.run(i % 4, {0});
  const auto counts = rig.session->take_counts();
  EXPECT_EQ(counts.at("requests"), 20);
  EXPECT_EQ(counts.at("requests.failed"), 0);
  EXPECT_EQ(counts.at("connections.opened"), 1);
  EXPECT_GT(counts.at("sent_bytes"), counts.at("requests") * 12);
  EXPECT_GT(counts.at("received_bytes"), counts.at("requests") * 12);
  EXPECT_GE(counts.at("send_delay_p99_us"), 0);
  EXPECT_FALSE(rig.session->take_counts().contains("requests")) << "since the last call";
}

TYPED_TEST_P(Served, ManyRequestsAreInFlightAtATime) {
  constexpr int many = 2;
  std::mutex mutex;
  std::condition_variable all_came;
  int came = 0;
  typename TypeParam::Script script;
  script.instead = [&](const typename TypeParam::Request& request) -> std::optional<typename TypeParam::Reply> {
    if (TypeParam::place(request) != TypeParam::infer) return std::nullopt;
    std::unique_lock lock(mutex);
    if (++came == many) all_came.notify_all();
    all_came.wait(lock, [&] { return came >= many; });
    return std::nullopt;
  };
  typename TypeParam::Server server{script};
  RigBy<TypeParam> rig(server.host());
  for (int slot = 0; slot < many; ++slot) rig.session->enqueue(slot, std::vector<uint32_t>{static_cast<uint32_t>(slot)}, 0);
  rig.session->drain();
  for (int slot = 0; slot < many; ++slot) EXPECT_EQ(rig.floats(slot)[1], 20.F * static_cast<float>(slot) + 2);
}

TYPED_TEST_P(Served, TheServersOwnTimesOfAWindowAreTaken) {
  typename TypeParam::Server server{typename TypeParam::Script()};
  RigBy<TypeParam> rig(server.host());
  rig.run(0, {0});
  rig.session->take_counts();
  for (int i = 0; i < 5; ++i) rig.run(0, {0});
  const auto counts = rig.session->take_counts();
  EXPECT_EQ(counts.at("server.requests"), 5);
  EXPECT_DOUBLE_EQ(counts.at("server.queue_ms"), 2);
  EXPECT_DOUBLE_EQ(counts.at("server.input_ms"), 0.5);
  EXPECT_DOUBLE_EQ(counts.at("server.inference_ms"), 7);
  EXPECT_DOUBLE_EQ(counts.at("server.output_ms"), 0.25);
  EXPECT_DOUBLE_EQ(counts.at("server.batch"), 2);
}

TYPED_TEST_P(Served, CancelGivesUpWhatIsNotAnswered) {
  typename TypeParam::Server server{instead_of<TypeParam>(TypeParam::infer, TypeParam::silence())};
  RigBy<TypeParam> rig(server.host());
  rig.session->enqueue(0, std::vector<uint32_t>{0}, 1);
  rig.session->enqueue(1, std::vector<uint32_t>{0}, 2);
  rig.session->cancel();
  EXPECT_THAT(rig.statuses(), testing::ElementsAre(Status::cancelled, Status::cancelled));
}

TYPED_TEST_P(Served, ASessionMayEndWithQueriesInFlight) {
  typename TypeParam::Server server{instead_of<TypeParam>(TypeParam::infer, TypeParam::silence())};
  RigBy<TypeParam> rig(server.host());
  rig.session->enqueue(0, std::vector<uint32_t>{0}, 1);
  rig.session.reset();
}

TYPED_TEST_P(Served, NobodyListens) {
  std::string host;
  {
    typename TypeParam::Server server{typename TypeParam::Script()};
    host = server.host();
  }
  KserveBackend backend;
  const Error error = failure_of([&] { backend.remote_model("double", request_by<TypeParam>(host)); });
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), testing::HasSubstr(std::string(TypeParam::scheme) + "://127.0.0.1:"));
  EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("connection refused"), testing::HasSubstr("ready_within")));
}

TYPED_TEST_P(Served, AnUnknownModelOrVersionIsRefused) {
  const Error model = refusal<TypeParam>({}, "duoble");
  EXPECT_EQ(model.kind(), ErrorKind::usage);
  EXPECT_THAT(model.what(), testing::HasSubstr("unknown model 'duoble', did you mean 'double'?"));
  const Error version = refusal<TypeParam>({}, "double:9");
  EXPECT_EQ(version.kind(), ErrorKind::usage);
  EXPECT_THAT(version.what(), testing::HasSubstr("double has no version 9; it has 1"));
}

TYPED_TEST_P(Served, AModelThatIsNotReadyIsRefused) {
  const Error error = refusal<TypeParam>({}, "late");
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("late is not ready"), testing::HasSubstr("ready_within=60s")));
}

TYPED_TEST_P(Served, TlsThatFailsIsSaid) {
  typename TypeParam::Server server{typename TypeParam::Script()};  // which speaks none
  KserveBackend backend;
  const Error error =
      failure_of([&] { backend.remote_model("double", request_to(server.host(), TypeParam::options(), 1, TypeParam::tls_scheme)); });
  EXPECT_THAT(error.what(), testing::HasSubstr("TLS failed"));
}

REGISTER_TYPED_TEST_SUITE_P(Served, ModelIsToldAsAGraph, ModelTakesNoBatchOverTheServersMaximum, ModelIsWaitedForWhereItIsStarting,
                            RequestsConnectionsAndBytesAreCounted, ManyRequestsAreInFlightAtATime, TheServersOwnTimesOfAWindowAreTaken,
                            CancelGivesUpWhatIsNotAnswered, ASessionMayEndWithQueriesInFlight, NobodyListens,
                            AnUnknownModelOrVersionIsRefused, AModelThatIsNotReadyIsRefused, TlsThatFailsIsSaid);

}  // namespace deepgap
