// The kserve backend over gRPC against a scripted server: what it asks, what it answers with, and each thing that can go wrong. What is the
// same over HTTP is tested there too (kserve_test.cpp).
#include "backends/kserve/grpc/calls.h"
#include "backends/kserve/grpc/scripted_grpc_model.h"
#include "backends/kserve/kserve_rig.h"
#include "backends/kserve/scripted_server.h"
#include "base/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Options = std::map<std::string, std::string>;
const Options streamed{{"stream", "on"}};

EngineRequest grpc_request(const std::string& host, Options options = {}, int64_t batch = 1) {
  return request_to(host, std::move(options), batch, "grpc");
}

class GrpcRig : public Rig {
 public:
  explicit GrpcRig(const std::string& host, Options options = {}, int64_t batch = 2) : Rig(host, std::move(options), batch, "grpc") {}
};

Error refusal(ScriptedGrpcModel script, const std::string& model = "double", Options options = {}) {
  ScriptedGrpcServer server(std::move(script));
  KserveBackend backend;
  return failure_of([&] { backend.remote_model(model, grpc_request(server.host(), options)); });
}

ScriptedGrpcModel instead_of(const std::string& method, const ScriptedAnswer& answer) {
  ScriptedGrpcModel script;
  script.instead = [=](const ScriptedCall& call) { return call.method == method ? std::optional(answer) : std::nullopt; };
  return script;
}

// By calls, and by messages on streams.
class Grpc : public testing::TestWithParam<bool> {
 protected:
  Options options(Options more = {}) const {
    if (GetParam()) more.insert(streamed.begin(), streamed.end());
    return more;
  }
  std::string method() const { return GetParam() ? "ModelStreamInfer" : "ModelInfer"; }
};
INSTANTIATE_TEST_SUITE_P(By, Grpc, testing::Bool(), [](const auto& one) { return one.param ? "Streams" : "Calls"; });

TEST(GrpcModel, IsToldAsAGraph) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  KserveBackend backend;
  EXPECT_THAT(backend.version(), AllOf(HasSubstr("libcurl"), HasSubstr("gRPC 1.")));
  const Graph graph = backend.remote_model("double", grpc_request(server.host()));
  ASSERT_EQ(graph.inputs.size(), 1U);
  const Value& input = graph.values[static_cast<size_t>(graph.inputs[0])];
  EXPECT_EQ(input.name, "x");
  EXPECT_EQ(input.type, DataType::f32);
  EXPECT_EQ(input.dims, (Dims{{1, batch_symbol}, {3, ""}}));
  EXPECT_THAT(backend.version(), AllOf(HasSubstr("gRPC 1."), HasSubstr("scripted 7"), Not(HasSubstr("libcurl"))));
}

TEST(GrpcModel, TakesNoBatchOverTheServersMaximum) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  KserveBackend backend;
  GraphSummary summary;
  summary.name = "double";
  backend.remote_model("double", grpc_request(server.host()));
  EXPECT_TRUE(backend.supports(grpc_request(server.host(), {}, 8), summary).ok);
  EXPECT_THAT(backend.supports(grpc_request(server.host(), {}, 9), summary).reason, HasSubstr("at most 8 samples a request"));
}

TEST_P(Grpc, AnswersQueries) {
  for (const bool raw : {true, false}) {
    ScriptedGrpcModel script;
    script.raw = raw;
    ScriptedGrpcServer server{script};
    GrpcRig rig(server.host(), options());
    EXPECT_EQ(rig.fate({1, 2}), "ok");
    EXPECT_THAT(rig.floats(0), ElementsAre(20, 22, 24, 40, 42, 44));
    EXPECT_EQ(rig.session->outputs(0)[0].shape[0], 2);
    EXPECT_EQ(rig.fate({3}), "ok");
    EXPECT_THAT(rig.floats(0), ElementsAre(60, 62, 64));
  }
}

TEST_P(Grpc, CountsRequestsConnectionsAndBytes) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  GrpcRig rig(server.host(), options());
  rig.session->take_counts();
  for (int i = 0; i < 20; ++i) rig.run(i % 4, {0});
  const auto counts = rig.session->take_counts();
  EXPECT_EQ(counts.at("requests"), 20);
  EXPECT_EQ(counts.at("requests.failed"), 0);
  EXPECT_EQ(counts.at("connections.opened"), 1);
  EXPECT_GT(counts.at("sent_bytes"), counts.at("requests") * 12);
  EXPECT_GT(counts.at("received_bytes"), counts.at("requests") * 12);
  EXPECT_FALSE(counts.contains("header_bytes")) << "the library does not tell them";
  EXPECT_GE(counts.at("send_delay_p99_us"), 0);
}

TEST(GrpcChannels, ShareTheSlots) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  BreakableRelay relay(server.port());
  GrpcRig rig(relay.host(), {{"channels", "3"}});
  const size_t asked = relay.connections();
  for (int slot = 0; slot < 4; ++slot) rig.run(slot, {0});
  EXPECT_EQ(relay.connections() - asked, 3U);
  EXPECT_EQ(rig.session->take_counts().at("connections.opened"), 3);
}

TEST(GrpcStreams, AreKept) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  GrpcRig rig(server.host(), streamed);
  rig.run(0, {0});
  const size_t calls = server.calls();
  for (int i = 0; i < 10; ++i) rig.run(0, {1});
  EXPECT_EQ(server.calls(), calls);
  EXPECT_EQ(server.seen_at("ModelStreamInfer"), 11U);
}

TEST_P(Grpc, ManyRequestsAreInFlightAtATime) {
  std::mutex mutex;
  std::condition_variable all_came;
  int came = 0;
  ScriptedGrpcModel script;
  script.instead = [&](const ScriptedCall& call) -> std::optional<ScriptedAnswer> {
    if (call.method != method()) return std::nullopt;
    std::unique_lock lock(mutex);
    if (++came == 2) all_came.notify_all();
    all_came.wait(lock, [&] { return came >= 2; });
    return std::nullopt;
  };
  ScriptedGrpcServer server{script};
  GrpcRig rig(server.host(), options());
  for (int slot = 0; slot < 2; ++slot) rig.session->enqueue(slot, std::vector<uint32_t>{static_cast<uint32_t>(slot)}, 0);
  rig.session->drain();
  for (int slot = 0; slot < 2; ++slot) EXPECT_EQ(rig.floats(slot)[1], 20.F * static_cast<float>(slot) + 2);
}

TEST_P(Grpc, TakesTheServersOwnTimesOfAWindow) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  GrpcRig rig(server.host(), options());
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

TEST_P(Grpc, ATokenGoesToTheServerAlone) {
  const TemporaryFolder folder;
  std::ofstream(folder / "token") << "s3cret-word\n";
  ScriptedGrpcServer server{instead_of(method(), {.status = {grpc::StatusCode::UNAUTHENTICATED, "who are you"}})};
  GrpcRig rig(server.host(), options({{"token_file", folder / "token"}}));
  EXPECT_THAT(rig.fate(), AllOf(HasSubstr("answered UNAUTHENTICATED: who are you"), Not(HasSubstr("s3cret"))));
  for (const ScriptedCall& call : server.seen()) EXPECT_EQ(call.metadata.at("authorization"), "Bearer s3cret-word") << call.method;
}

// --- faults of single queries: the others go on

struct GrpcFaultCase {
  std::string name;
  ScriptedAnswer unary, stream;
  std::string says;
  std::string says_of_stream = "";  // empty: the same
};
void PrintTo(const GrpcFaultCase& fault, std::ostream* out) { *out << fault.name; }
class GrpcFault : public testing::TestWithParam<std::tuple<GrpcFaultCase, bool>> {};

TEST_P(GrpcFault, IsToldAndTheNextQueryIsAnswered) {
  const auto& [fault, by_stream] = GetParam();
  const std::string method = by_stream ? "ModelStreamInfer" : "ModelInfer";
  const std::string says = by_stream && !fault.says_of_stream.empty() ? fault.says_of_stream : fault.says;
  const ScriptedAnswer misdeed = by_stream ? fault.stream : fault.unary;
  std::atomic<bool> broken = false;
  ScriptedGrpcModel script;
  script.instead = [&](const ScriptedCall& call) -> std::optional<ScriptedAnswer> {
    if (call.method != method || !broken.exchange(false)) return std::nullopt;
    return misdeed;
  };
  ScriptedGrpcServer server{script};
  Options options{{"timeout", "300ms"}};
  if (by_stream) options["stream"] = "on";
  GrpcRig rig(server.host(), options);
  EXPECT_EQ(rig.fate(), "ok");
  broken = true;
  EXPECT_THAT(rig.fate(), HasSubstr(says));
  EXPECT_EQ(server.seen_at(method), 2U) << "nothing is sent again";
  EXPECT_EQ(rig.fate(), "ok");
  EXPECT_THAT(rig.floats(0), ElementsAre(0, 2, 4));
}

using inference::ModelInferResponse;
ModelInferResponse output(const std::string& name, const std::string& type, const std::vector<int64_t>& shape) {
  ModelInferResponse response;
  auto& out = *response.add_outputs();
  out.set_name(name);
  out.set_datatype(type);
  for (const int64_t size : shape) out.add_shape(size);
  return response;
}
ModelInferResponse with_bytes(ModelInferResponse response, size_t bytes) {
  response.add_raw_output_contents(std::string(bytes, '\0'));
  return response;
}
ModelInferResponse with_numbers(ModelInferResponse response, int count) {
  for (int i = 0; i < count; ++i) response.mutable_outputs(0)->mutable_contents()->add_fp32_contents(1);
  return response;
}
GrpcFaultCase answered(const std::string& name, const ModelInferResponse& response, const std::string& says) {
  inference::ModelStreamInferResponse streamed_response;
  *streamed_response.mutable_infer_response() = response;
  return {name, ScriptedGrpcModel::of(response), ScriptedGrpcModel::of(streamed_response), says};
}
GrpcFaultCase ended(const std::string& name, grpc::StatusCode code, const std::string& words, const std::string& says) {
  const ScriptedAnswer answer{.status = {code, words}};
  return {name, answer, answer, says};
}
ModelInferResponse of_another() {
  ModelInferResponse response = with_bytes(output("y", "FP32", {1, 3}), 12);
  response.set_id("4711");
  return response;
}

using Code = grpc::StatusCode;
INSTANTIATE_TEST_SUITE_P(
    Kinds, GrpcFault,
    testing::Combine(
        testing::Values(
            GrpcFaultCase{"TimeOut", {.end = ScriptedAnswer::End::hang}, {.end = ScriptedAnswer::End::hang}, "no answer within 300 ms"},
            ended("GreyFailure", Code::INTERNAL, "the stub is gone", "answered INTERNAL: the stub is gone"),
            ended("Unavailable", Code::UNAVAILABLE, "overloaded", "answered UNAVAILABLE: overloaded"),
            ended("ServersDeadline", Code::DEADLINE_EXCEEDED, "queue timeout", "answered DEADLINE_EXCEEDED: queue timeout"),
            ended("Exhausted", Code::RESOURCE_EXHAUSTED, "quota", "answered RESOURCE_EXHAUSTED: quota"),
            ended("Unimplemented", Code::UNIMPLEMENTED, "", "answered UNIMPLEMENTED"),
            ended("Cancelled", Code::CANCELLED, "shed", "answered CANCELLED: shed"),
            GrpcFaultCase{"EndsWithoutAnswer",
                          {.status = {Code::ABORTED, "gone"}},
                          {.end = ScriptedAnswer::End::end_stream},
                          "answered ABORTED: gone",
                          "the server ended the stream before an answer"},
            GrpcFaultCase{"ErrorOfOneRequest",
                          {.status = {Code::INVALID_ARGUMENT, "wrong"}},
                          ScriptedGrpcModel::stream_error("wrong"),
                          "answered INVALID_ARGUMENT: wrong",
                          "answered an error: wrong"},
            GrpcFaultCase{"NoMessage", {.message = "\x0f\xff fine"}, {.message = "\x0f\xff fine"}, "no message of KServe v2"},
            answered("NoOutputs", {}, "output 'y' is missing"), answered("EmptyTensor", output("y", "FP32", {0, 3}), "output 'y' is empty"),
            answered("OtherShape", with_bytes(output("y", "FP32", {1, 4}), 16), "has the shape [1,4], [1,3] were asked for"),
            answered("OtherBatch", with_bytes(output("y", "FP32", {2, 3}), 24), "has the shape [2,3]"),
            answered("OtherType", with_bytes(output("y", "INT32", {1, 3}), 12), "is INT32, the metadata tell FP32"),
            answered("TooFewNumbers", with_numbers(output("y", "FP32", {1, 3}), 2), "has not the numbers of its shape"),
            answered("NoData", output("y", "FP32", {1, 3}), "has not the numbers of its shape"),
            answered("OtherBytes", with_bytes(output("y", "FP32", {1, 3}), 16), "has 16 bytes, its shape asks for 12"),
            answered("BytesOfMore", with_bytes(with_bytes(output("y", "FP32", {1, 3}), 12), 12), "1 outputs with the bytes of 2"),
            answered("HugeShape", with_bytes(output("y", "FP32", {int64_t{1} << 62, 4}), 12), "has no shape"),
            answered("NegativeSize", with_bytes(output("y", "FP32", {-1, 3}), 12), "has no shape"),
            answered("TooLarge", with_bytes(output("y", "FP32", {1, 3}), 2'000'000), "an answer of more than")),
        testing::Bool()),
    [](const auto& one) { return std::get<0>(one.param).name + (std::get<1>(one.param) ? "ByStream" : "ByCall"); });

TEST(GrpcStreams, AnAnswerToAnotherRequestIsNone) {
  inference::ModelStreamInferResponse response;
  *response.mutable_infer_response() = of_another();
  bool once = true;
  ScriptedGrpcModel script;
  script.instead = [&](const ScriptedCall& call) {
    return call.method == "ModelStreamInfer" && std::exchange(once, false) ? std::optional(ScriptedGrpcModel::of(response)) : std::nullopt;
  };
  ScriptedGrpcServer server{script};
  GrpcRig rig(server.host(), streamed);
  EXPECT_EQ(rig.fate(), "an answer to another request");
  EXPECT_EQ(rig.fate(), "ok");
}

// One that is given up just when its answer comes is answered or given up; either way the slot's next request is answered.
TEST(GrpcStreams, AreNotUsedAgainOnceTheyWereGivenUp) {
  constexpr size_t slots = 4;
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  inference::ModelInferRequest request;
  request.set_model_name("double");
  auto& input = *request.add_inputs();
  input.set_name("x");
  input.add_shape(1);
  request.add_raw_input_contents(std::string(sizeof(float), '\0'));
  std::mutex mutex;
  std::condition_variable over;
  size_t ended = 0;
  bool gives_up = false;
  std::vector<std::string> faults;
  GrpcCalls* calls = nullptr;
  const auto note = [&](size_t, const CallEnd& end) {
    const std::lock_guard lock(mutex);
    if (std::exchange(gives_up, false)) calls->give_up();
    if (end.fault && end.fault->kind != Fault::Kind::cancelled) faults.push_back(end.fault->what);
    ++ended;
    over.notify_all();
  };
  const auto clock = make_real_clock(0);
  const auto made = make_stream_calls({"grpc://" + server.host(), "", ""}, {slots, 1, 1'000'000, 60'000'000'000, clock.get()}, note);
  calls = made.get();
  for (int round = 0; round < 200 && faults.empty(); ++round) {
    {
      const std::lock_guard lock(mutex);
      gives_up = round % 2 == 0;
      ended = 0;
    }
    for (size_t slot = 0; slot < slots; ++slot) calls->begin(slot, serialized(request), 0);
    std::unique_lock lock(mutex);
    over.wait(lock, [&] { return ended == slots; });
  }
  EXPECT_THAT(faults, testing::IsEmpty());
}

// The library tries again 0.1 s later at the earliest, and tells what it found until then.
std::string fate_in_the_end(Rig& rig, const std::string& wanted) {
  std::string fate;
  for (int i = 0; i < 1000; ++i) {
    if ((fate = rig.fate()) == wanted) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return fate;
}

TEST_P(Grpc, AConnectionThatBreaksIsToldAndOpenedAgain) {
  ScriptedGrpcModel script;
  std::atomic<bool> broken = false;
  std::atomic<BreakableRelay*> breaks = nullptr;
  script.instead = [&](const ScriptedCall& call) -> std::optional<ScriptedAnswer> {
    if (call.method != method() || !broken.exchange(false)) return std::nullopt;
    breaks.load()->break_all();
    return ScriptedAnswer{.end = ScriptedAnswer::End::hang};
  };
  ScriptedGrpcServer server{script};
  BreakableRelay relay(server.port());
  breaks = &relay;
  GrpcRig rig(relay.host(), options());
  EXPECT_EQ(rig.fate(), "ok");
  broken = true;
  EXPECT_EQ(rig.fate(), "the connection was reset or closed before an answer");
  EXPECT_EQ(server.seen_at(method()), 2U) << "nothing is sent again";
  EXPECT_EQ(fate_in_the_end(rig, "ok"), "ok");
  EXPECT_EQ(rig.session->take_counts().at("connections.opened"), 2);
}

TEST_P(Grpc, AServerThatStoppedRefusesAndOneThatStartsAgainAnswers) {
  auto server = std::make_unique<ScriptedGrpcServer>(ScriptedGrpcModel());
  const int port = server->port();
  GrpcRig rig(server->host(), options());
  EXPECT_EQ(rig.fate(), "ok");
  server->stop();
  EXPECT_NE(rig.fate(), "ok");
  EXPECT_EQ(fate_in_the_end(rig, "connection refused"), "connection refused");
  server = std::make_unique<ScriptedGrpcServer>(ScriptedGrpcModel(), port);
  EXPECT_EQ(fate_in_the_end(rig, "ok"), "ok");
  EXPECT_THAT(rig.floats(0), ElementsAre(0, 2, 4));
}

TEST_P(Grpc, CancelGivesUpWhatIsNotAnswered) {
  ScriptedGrpcServer server{instead_of(method(), {.end = ScriptedAnswer::End::hang})};
  GrpcRig rig(server.host(), options());
  rig.session->enqueue(0, std::vector<uint32_t>{0}, 1);
  rig.session->enqueue(1, std::vector<uint32_t>{0}, 2);
  rig.session->cancel();
  EXPECT_THAT(rig.statuses(), ElementsAre(Status::cancelled, Status::cancelled));
}

TEST_P(Grpc, ASessionMayEndWithQueriesInFlight) {
  ScriptedGrpcServer server{instead_of(method(), {.end = ScriptedAnswer::End::hang})};
  GrpcRig rig(server.host(), options());
  rig.session->enqueue(0, std::vector<uint32_t>{0}, 1);
  rig.session.reset();
}

TEST_P(Grpc, ARequestOverTheServersLimitIsToldByTheServer) {
  ScriptedGrpcModel script;
  script.instead = [](const ScriptedCall&) { return std::nullopt; };
  ScriptedGrpcServer server{script};
  GrpcRig rig(server.host(), options(), 100'000);
  EXPECT_THAT(rig.fate(std::vector<uint32_t>(100'000, 0)), AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("larger than max")));
  EXPECT_EQ(rig.fate(), "ok");
}

// --- servers that are none, or not the right ones

TEST(GrpcRefusal, NobodyListens) {
  std::string host;
  {
    ScriptedGrpcServer server{ScriptedGrpcModel()};
    host = server.host();
  }
  KserveBackend backend;
  const Error error = failure_of([&] { backend.remote_model("double", grpc_request(host)); });
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("grpc://127.0.0.1:"), HasSubstr("connection refused"), HasSubstr("ready_within")));
}

TEST(GrpcRefusal, AServerOfHttp) {
  for (const int status : {200, 400}) {
    ScriptedServer server{[&](const ScriptedRequest&) { return ScriptedReply{.status = status, .end = ScriptedReply::End::close}; }};
    KserveBackend backend;
    EXPECT_THAT(failure_of([&] { backend.remote_model("double", grpc_request(server.host())); }).what(),
                HasSubstr("does not speak HTTP/2; gRPC has a port of its own"));
  }
}

TEST(GrpcRefusal, AnotherServiceOfGrpc) {
  ScriptedGrpcModel none;
  none.instead = [](const ScriptedCall&) { return ScriptedAnswer{.status = {Code::UNIMPLEMENTED, "unknown service"}}; };
  EXPECT_THAT(refusal(none).what(), HasSubstr("speaks gRPC, but not KServe v2"));
  EXPECT_THAT(refusal(instead_of("ServerMetadata", {.status = {Code::UNAUTHENTICATED, "who are you"}})).what(), HasSubstr("token_file"));
  EXPECT_THAT(refusal(instead_of("ServerMetadata", {})).what(), HasSubstr("tell no name"));
  EXPECT_THAT(refusal(instead_of("ServerMetadata", {.message = "\x0f\xff"})).what(), HasSubstr("no message of KServe v2"));
}

TEST(GrpcRefusal, AnUnknownModelOrVersion) {
  const Error model = refusal({}, "duoble");
  EXPECT_EQ(model.kind(), ErrorKind::usage);
  EXPECT_THAT(model.what(), HasSubstr("unknown model 'duoble', did you mean 'double'?"));
  const Error version = refusal({}, "double:9");
  EXPECT_EQ(version.kind(), ErrorKind::usage);
  EXPECT_THAT(version.what(), HasSubstr("double has no version 9; it has 1"));
}

TEST(GrpcRefusal, AModelThatIsNotReady) {
  const Error error = refusal({}, "late");
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("late is not ready"), HasSubstr("ready_within=60s")));
}

TEST(GrpcModel, IsWaitedForWhereItIsStarting) {
  int asked = 0;
  ScriptedGrpcModel script;
  script.instead = [&](const ScriptedCall& call) -> std::optional<ScriptedAnswer> {
    if (call.method != "ModelReady" || ++asked > 3) return std::nullopt;
    return ScriptedAnswer{.status = {Code::UNAVAILABLE, "loading"}};
  };
  ScriptedGrpcServer server{script};
  KserveBackend backend;
  EXPECT_EQ(backend.remote_model("double", grpc_request(server.host(), {{"ready_within", "60s"}})).inputs.size(), 1U);
  EXPECT_EQ(asked, 4);
}

TEST(GrpcRefusal, MetadataThatAreNone) {
  inference::ModelMetadataResponse metadata;
  EXPECT_THAT(refusal(instead_of("ModelMetadata", ScriptedGrpcModel::of(metadata))).what(), HasSubstr("does not tell the inputs"));
  metadata = ScriptedGrpcModel().metadata();
  metadata.mutable_inputs(0)->set_datatype("BYTES");
  EXPECT_THAT(refusal(instead_of("ModelMetadata", ScriptedGrpcModel::of(metadata))).what(), HasSubstr("datatype 'BYTES' are not measured"));
  metadata = ScriptedGrpcModel().metadata();
  metadata.mutable_inputs(0)->set_shape(0, -2);
  EXPECT_THAT(refusal(instead_of("ModelMetadata", ScriptedGrpcModel::of(metadata))).what(), HasSubstr("a size that is none"));
}

TEST(GrpcRefusal, TlsThatFails) {
  ScriptedGrpcServer server{ScriptedGrpcModel()};  // which speaks none
  KserveBackend backend;
  EXPECT_THAT(failure_of([&] { backend.remote_model("double", request_to(server.host(), {}, 1, "grpcs")); }).what(),
              HasSubstr("TLS failed"));
}

// A certificate for `name` that vouches for itself, and its key; false: there is no openssl here to make one.
bool make_certificate(const TemporaryFolder& folder, const std::string& name) {
  const std::string command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=" + name +
                              " -keyout " + (folder / "key.pem") + " -out " + (folder / "certificate.pem") + " 2>/dev/null";
  return std::system(command.c_str()) == 0;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string outcome_over_tls(const std::string& name, bool trusted) {
  const TemporaryFolder folder;
  if (!make_certificate(folder, name)) return "no openssl";
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({text_of(folder / "key.pem"), text_of(folder / "certificate.pem")});
  ScriptedGrpcServer server{ScriptedGrpcModel(), 0, grpc::SslServerCredentials(options)};
  const Options given = trusted ? Options{{"ca_file", folder / "certificate.pem"}} : Options();
  try {
    Rig rig(server.host(), given, 2, "grpcs");
    return rig.fate();
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(GrpcTls, CertificatesAndNamesAreVerified) {
  const std::string right = outcome_over_tls("IP:127.0.0.1", true);
  if (right == "no openssl") GTEST_SKIP() << "no openssl here to make a certificate";
  EXPECT_EQ(right, "ok");
  EXPECT_THAT(outcome_over_tls("IP:127.0.0.1", false), HasSubstr("TLS failed"));
  EXPECT_THAT(outcome_over_tls("DNS:other.example", true), HasSubstr("TLS failed"));
}

TEST(GrpcRefusal, AddressesThatAreNone) {
  KserveBackend backend;
  for (const char* host : {"localhost", "localhost:", "[::1]", "localhost:8001/path"}) {
    const Error error = failure_of([&] { backend.remote_model("double", grpc_request(host)); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << host;
    EXPECT_THAT(error.what(), HasSubstr("grpc://host:port")) << host;
  }
  EXPECT_THAT(failure_of([&] {
                backend.remote_model("double", grpc_request("127.0.0.1:1", {{"tensors", "json"}}));
              }).what(),
              HasSubstr("tensors=json is of HTTP"));
  EXPECT_THAT(failure_of([&] {
                backend.remote_model("double", request_to("127.0.0.1:1", {{"ca_file", "/nowhere/at-all.pem"}}, 1, "grpcs"));
              }).what(),
              HasSubstr("/nowhere/at-all.pem cannot be read"));
}

TEST(GrpcToken, DoesNotTravelUnencrypted) {
  const TemporaryFolder folder;
  std::ofstream(folder / "token") << "s3cret";
  KserveBackend backend;
  const Error error = failure_of([&] {
    backend.remote_model("double", grpc_request("triton.example:8001", {{"token_file", folder / "token"}}));
  });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("unencrypted"), HasSubstr("grpcs://"), Not(HasSubstr("s3cret"))));
}

TEST(GrpcModel, NoProxyOfTheEnvironmentIsUsed) {
  ScriptedServer proxy{[](const ScriptedRequest&) { return ScriptedReply{}; }};
  ScriptedGrpcServer server{ScriptedGrpcModel()};
  for (const char* name : {"grpc_proxy", "https_proxy", "http_proxy"}) ::setenv(name, proxy.url().c_str(), 1);
  KserveBackend backend;
  EXPECT_EQ(backend.remote_model("double", grpc_request(server.host())).inputs.size(), 1U);
  for (const char* name : {"grpc_proxy", "https_proxy", "http_proxy"}) ::unsetenv(name);
  EXPECT_TRUE(proxy.seen().empty());
}

}  // namespace
}  // namespace deepgap
