// Errors of single queries over gRPC: the others go on.
#include "backends/kserve/grpc/by_grpc.h"
#include "backends/kserve/grpc/calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

struct GrpcErrorCase {
  std::string name;
  ScriptedAnswer unary, stream;
  std::string says;
  std::string says_of_stream = "";  // empty: the same
};
void PrintTo(const GrpcErrorCase& request_error, std::ostream* out) { *out << request_error.name; }
class GrpcError : public testing::TestWithParam<std::tuple<GrpcErrorCase, bool>> {};

TEST_P(GrpcError, IsToldAndTheNextQueryIsAnswered) {
  const auto& [request_error, by_stream] = GetParam();
  if (by_stream) {
    expect_told_and_the_next_answered<ByGrpcStream>(
        request_error.stream, request_error.says_of_stream.empty() ? request_error.says : request_error.says_of_stream);
  } else {
    expect_told_and_the_next_answered<ByGrpc>(request_error.unary, request_error.says);
  }
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
ModelInferResponse twice(ModelInferResponse response) {
  *response.add_outputs() = ModelInferResponse(response).outputs(0);
  return response;
}
GrpcErrorCase answered(const std::string& name, const ModelInferResponse& response, const std::string& says) {
  inference::ModelStreamInferResponse streamed_response;
  *streamed_response.mutable_infer_response() = response;
  return {name, ScriptedGrpcModel::of(response), ScriptedGrpcModel::of(streamed_response), says};
}
GrpcErrorCase ended(const std::string& name, grpc::StatusCode code, const std::string& words, const std::string& says) {
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
    Kinds, GrpcError,
    testing::Combine(
        testing::Values(
            GrpcErrorCase{"TimeOut", {.end = ScriptedAnswer::End::hang}, {.end = ScriptedAnswer::End::hang}, "no answer within 300 ms"},
            ended("GreyFailure", Code::INTERNAL, "the stub is gone", "answered INTERNAL: the stub is gone"),
            ended("Unavailable", Code::UNAVAILABLE, "overloaded", "answered UNAVAILABLE: overloaded"),
            ended("ServersDeadline", Code::DEADLINE_EXCEEDED, "queue timeout", "answered DEADLINE_EXCEEDED: queue timeout"),
            ended("Exhausted", Code::RESOURCE_EXHAUSTED, "quota", "answered RESOURCE_EXHAUSTED: quota"),
            ended("Unimplemented", Code::UNIMPLEMENTED, "", "answered UNIMPLEMENTED"),
            ended("Cancelled", Code::CANCELLED, "shed", "answered CANCELLED: shed"),
            GrpcErrorCase{"EndsWithoutAnswer",
                          {.status = {Code::ABORTED, "gone"}},
                          {.end = ScriptedAnswer::End::end_stream},
                          "answered ABORTED: gone",
                          "the server ended the stream before an answer"},
            GrpcErrorCase{"ErrorOfOneRequest",
                          {.status = {Code::INVALID_ARGUMENT, "wrong"}},
                          ScriptedGrpcModel::stream_error("wrong"),
                          "answered INVALID_ARGUMENT: wrong",
                          "answered an error: wrong"},
            GrpcErrorCase{"NoMessage", {.message = "\x0f\xff fine"}, {.message = "\x0f\xff fine"}, "no message of KServe v2"},
            answered("NoOutputs", {}, "output 'y' is missing"),
            answered("OutputTwice", twice(with_numbers(output("y", "FP32", {1, 3}), 3)), "output 'y' twice"),
            answered("EmptyTensor", output("y", "FP32", {0, 3}), "output 'y' is empty"),
            answered("OtherShape", with_bytes(output("y", "FP32", {1, 4}), 16), "has the shape [1,4]; expected [1,3]"),
            answered("OtherBatch", with_bytes(output("y", "FP32", {2, 3}), 24), "has the shape [2,3]"),
            answered("OtherType", with_bytes(output("y", "INT32", {1, 3}), 12), "is INT32, but the metadata says FP32"),
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
    return call.method == ByGrpcStream::infer && std::exchange(once, false) ? std::optional(ScriptedGrpcModel::of(response)) : std::nullopt;
  };
  ScriptedGrpcServer server{script};
  RigBy<ByGrpcStream> rig(server.host());
  EXPECT_EQ(rig.fate(), "an answer to another request");
  EXPECT_EQ(rig.fate(), "ok");
}

// MLServer's streams are so: one request each.
TEST(GrpcStreams, ThatEndWithTheirAnswerAreToldApart) {
  int asked = 0;
  ScriptedGrpcModel script;
  script.instead = [&](const ScriptedCall& call) -> std::optional<ScriptedAnswer> {
    if (call.method != ByGrpcStream::infer || ++asked % 2 == 1) return std::nullopt;
    return ScriptedAnswer{.end = ScriptedAnswer::End::end_stream};
  };
  ScriptedGrpcServer server{script};
  RigBy<ByGrpcStream> rig(server.host());
  EXPECT_EQ(rig.fate(), "ok");
  EXPECT_EQ(rig.fate(),
            "the server ended the stream before an answer, after an earlier one: if it takes one request a stream, leave out stream=on");
  EXPECT_EQ(rig.fate(), "ok");
}

// MLServer's messages are so: the answer itself, where Triton sends a message that holds it. Its name and version stand where those have an
// error.
TEST(GrpcStreams, MayHoldAnswersThemselves) {
  for (const char* version : {"", "1", "v1.2"}) {
    ScriptedGrpcModel script;
    script.instead = [&, model = ScriptedGrpcModel()](const ScriptedCall& call) -> std::optional<ScriptedAnswer> {
      if (call.method != ByGrpcStream::infer) return std::nullopt;
      ModelInferResponse response = model.answer(call.message);
      response.set_model_name("double");
      response.set_model_version(version);
      return ScriptedGrpcModel::of(response);
    };
    ScriptedGrpcServer server{script};
    RigBy<ByGrpcStream> rig(server.host());
    EXPECT_EQ(rig.fate({1, 2}), "ok") << version;
    EXPECT_THAT(rig.floats(0), testing::ElementsAre(20, 22, 24, 40, 42, 44));
  }
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
  std::vector<std::string> request_errors;
  GrpcCalls* calls = nullptr;
  const auto note = [&](size_t, const CallEnd& end) {
    const std::lock_guard lock(mutex);
    if (std::exchange(gives_up, false)) calls->give_up();
    if (end.request_error && end.request_error->kind != RequestError::Kind::cancelled) request_errors.push_back(end.request_error->what);
    ++ended;
    over.notify_all();
  };
  const auto clock = make_real_clock(0);
  const auto made = make_stream_calls({"grpc://" + server.host(), "", ""}, {slots, 1, 1'000'000, 60'000'000'000, clock.get()}, note);
  calls = made.get();
  for (int round = 0; round < 200 && request_errors.empty(); ++round) {
    {
      const std::lock_guard lock(mutex);
      gives_up = round % 2 == 0;
      ended = 0;
    }
    for (size_t slot = 0; slot < slots; ++slot) calls->begin(slot, serialized(request), 0);
    std::unique_lock lock(mutex);
    over.wait(lock, [&] { return ended == slots; });
  }
  EXPECT_THAT(request_errors, testing::IsEmpty());
}

}  // namespace
}  // namespace deepgap
