// The kserve backend against a scripted server: what it asks, what it answers with, and each thing that can go wrong.
#include "backends/kserve/kserve_backend.h"

#include "backends/kserve/http.h"
#include "backends/kserve/kserve_rig.h"
#include "backends/kserve/metrics.h"
#include "backends/kserve/scripted_model.h"
#include "base/temporary_folder.h"

#include <deepgap/series_source.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// What is said of a server of this script when a model of it is asked for.
Error refusal(ScriptedModel script, const std::string& model = "double", std::map<std::string, std::string> options = {}) {
  ScriptedServer server(std::move(script));
  KserveBackend backend;
  return failure_of([&] { backend.remote_model(model, request_to(server.host(), options)); });
}

ScriptedModel instead_of(const std::string& path, const ScriptedReply& reply) {
  ScriptedModel script;
  script.instead = [=](const ScriptedRequest& request) { return request.path == path ? std::optional(reply) : std::nullopt; };
  return script;
}

TEST(Kserve, TellsTheServersModelAsAGraph) {
  ScriptedServer server{ScriptedModel()};
  KserveBackend backend;
  const Graph graph = backend.remote_model("double", request_to(server.host()));
  ASSERT_EQ(graph.inputs.size(), 1U);
  const Value& input = graph.values[static_cast<size_t>(graph.inputs[0])];
  EXPECT_EQ(input.name, "x");
  EXPECT_EQ(input.type, DataType::f32);
  EXPECT_EQ(input.dims, (Dims{{1, batch_symbol}, {3, ""}}));
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[0])].name, "y");
  EXPECT_THAT(backend.version(), AllOf(HasSubstr("libcurl"), HasSubstr("scripted 7")));
}

TEST(Kserve, RefusesABatchOverTheServersMaximum) {
  ScriptedServer server{ScriptedModel()};
  KserveBackend backend;
  GraphSummary summary;
  summary.name = "double";
  backend.remote_model("double", request_to(server.host()));
  EXPECT_TRUE(backend.supports(request_to(server.host(), {}, 8), summary).ok);
  EXPECT_THAT(backend.supports(request_to(server.host(), {}, 9), summary).reason, HasSubstr("at most 8 samples a request"));
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

TEST(Kserve, KeepsItsConnections) {
  ScriptedServer server{ScriptedModel()};
  Rig rig(server.host());
  rig.session->take_counts();
  for (int i = 0; i < 20; ++i) rig.run(i % 4, {0});
  const auto counts = rig.session->take_counts();
  EXPECT_EQ(counts.at("requests"), 20);
  EXPECT_EQ(counts.at("requests.failed"), 0);
  EXPECT_EQ(counts.at("connections.opened"), 1);
  EXPECT_GT(counts.at("sent_bytes"), counts.at("requests") * 12);
  EXPECT_GT(counts.at("header_bytes"), 0);
  EXPECT_GE(counts.at("send_delay_p99_us"), 0);
  EXPECT_FALSE(rig.session->take_counts().contains("requests")) << "since the last call";
}

// Descriptors are used again, by connections and by the look-up of the name.
TEST(Kserve, ConnectionsThatTheServerClosesAreOpenedAgain) {
  ScriptedModel script;
  script.instead = [&](const ScriptedRequest& request) -> std::optional<ScriptedReply> {
    if (request.path != "/v2/models/double/infer") return std::nullopt;
    ScriptedReply reply = script.answer(request);
    reply.end = ScriptedReply::End::close;
    return reply;
  };
  ScriptedServer server{[&](const ScriptedRequest& request) { return script(request); }};
  Rig rig("localhost:" + std::to_string(server.port()));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(rig.fate({1}), "ok");
  EXPECT_EQ(rig.session->take_counts().at("connections.opened"), 30);
}

TEST(Kserve, ManyRequestsAreInFlightAtATime) {
  std::mutex mutex;
  std::condition_variable all_came;
  int came = 0;
  ScriptedModel script;
  script.instead = [&](const ScriptedRequest& request) -> std::optional<ScriptedReply> {
    if (request.path != "/v2/models/double/infer") return std::nullopt;
    std::unique_lock lock(mutex);
    if (++came == 4) all_came.notify_all();
    all_came.wait(lock, [&] { return came >= 4; });
    return std::nullopt;
  };
  ScriptedServer server{script};
  Rig rig(server.host());
  for (int slot = 0; slot < 4; ++slot) rig.session->enqueue(slot, std::vector<uint32_t>{static_cast<uint32_t>(slot)}, 0);
  rig.session->drain();
  for (int slot = 0; slot < 4; ++slot) EXPECT_EQ(rig.floats(slot)[1], 20.F * static_cast<float>(slot) + 2);
}

TEST(Kserve, TakesTheServersOwnTimesOfAWindow) {
  ScriptedServer server{ScriptedModel()};
  Rig rig(server.host());
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

TEST(Kserve, ReadsTheServersGpuMetricsAtBothEndsOfAWindow) {
  std::atomic<int> asked{0};
  ScriptedServer metrics{[&](const ScriptedRequest&) {
    const int joules = 100 * ++asked;
    return ScriptedReply{.body =
                             "# HELP nv_gpu_utilization GPU utilization rate\nnv_gpu_utilization{gpu_uuid=\"a b\"} 0.5\n"
                             "nv_gpu_utilization{gpu_uuid=\"b\"} 0.25\nnv_gpu_utilization_other 7\n"
                             "nv_gpu_memory_used_bytes{gpu_uuid=\"a b\"} 1e9\nnv_energy_consumption{gpu_uuid=\"a b\"} " +
                             std::to_string(joules) + "\n",
                         .content_type = "text/plain"};
  }};
  ScriptedServer server{ScriptedModel()};
  Rig rig(server.host(), {{"metrics", metrics.url() + "/metrics"}});
  rig.session->take_counts();
  const auto counts = rig.session->take_counts();
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_utilization"), 0.375);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_memory_used_bytes"), 1e9);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_energy_j"), 100);
  EXPECT_FALSE(counts.contains("server.gpu_power_w")) << "what is not told is not there";
  EXPECT_THAT(metrics.seen().front().path, "/metrics");
  EXPECT_THAT(failure_of([&] { Rig(server.host(), {{"metrics", server.url() + "/metrics"}}); }).what(), HasSubstr("answered 404"));
  EXPECT_THAT(failure_of([&] { Rig(server.host(), {{"metrics", "http://me:word@host/"}}); }).what(), HasSubstr("is no URL"));
}

TEST(Kserve, ReadsTheServersGpuMetricsInAWindowToo) {
  std::atomic<int> asked{0};
  ScriptedServer metrics{[&](const ScriptedRequest&) {
    const int now = ++asked;
    if (now == 3) return ScriptedReply{.status = 500};  // is left out
    return ScriptedReply{.body = "nv_gpu_power_usage{gpu=\"0\"} " + std::to_string(100 * now) + "\nnv_gpu_memory_used_bytes " +
                                 std::to_string(now == 4 ? 9 : 1) + "\n",
                         .content_type = "text/plain"};
  }};
  const auto clock = make_real_clock();
  MetricsReader reader(metrics.url() + "/metrics", {}, *clock, "double", std::chrono::milliseconds(1));
  while (asked < 6) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto counts = reader.take();
  EXPECT_GE(counts.at("server.gpu_readings"), 5);
  EXPECT_GT(counts.at("server.gpu_power_w"), 100);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_memory_used_bytes"), 9) << "the most, which neither end of the window saw";
  const std::vector<Series> series = reader.take_series();
  ASSERT_THAT(series, SizeIs(2));
  EXPECT_EQ(series[1].name, "power.gpu0");
  EXPECT_EQ(series[1].probe, "server");
  ASSERT_GE(series[1].values.size(), 5U);
  EXPECT_EQ(series[1].values[0], 100);
  EXPECT_EQ(series[1].values[2], 400) << "the third answer was none";
  EXPECT_TRUE(std::is_sorted(series[1].times.begin(), series[1].times.end()));
  EXPECT_EQ(series[1].times.size(), series[1].values.size());
  EXPECT_THAT(reader.take_series(), SizeIs(testing::Le(2))) << "what was taken is not told again";
  for (const Series& later : reader.take_series()) EXPECT_GT(later.times.front(), series[1].times.back());
}

TEST(Kserve, IsASourceOfSeriesWhereMetricsAreRead) {
  ScriptedServer metrics{[&](const ScriptedRequest&) {
    return ScriptedReply{.body = "nv_inference_pending_request_count{model=\"double\",version=\"1\"} 7\n", .content_type = "text/plain"};
  }};
  ScriptedServer server{ScriptedModel()};
  Rig with(server.host(), {{"metrics", metrics.url() + "/metrics"}}), without(server.host());
  auto* source = dynamic_cast<SeriesSource*>(with.session.get());
  ASSERT_NE(source, nullptr);
  const std::vector<Series> series = source->take_series();
  ASSERT_THAT(series, SizeIs(1));
  EXPECT_EQ(series[0].name, "pending_requests");
  EXPECT_THAT(series[0].values, ElementsAre(7));
  EXPECT_THAT(dynamic_cast<SeriesSource*>(without.session.get())->take_series(), SizeIs(0));
}

TEST(KserveMetrics, OfAText) {
  const ServerReading read = read_metrics(
      "# HELP nv_gpu_power_usage W\n# TYPE nv_gpu_power_usage gauge\n"
      "nv_gpu_utilization{gpu_uuid=\"GPU-b\"} 0.5\nnv_gpu_utilization{gpu_uuid=\"GPU-a\"} 0.25\n"
      "nv_gpu_power_usage{gpu_uuid=\"GPU-a\"} 90\nnv_gpu_power_usage{gpu_uuid=\"GPU-b\"} 300 1700000000000\n"
      "nv_gpu_power_usage_other 7\nnv_gpu_power_usage{gpu_uuid=\"GPU-c\"\nnv_gpu_power_usage nothing\n"
      "nv_cpu_utilization 0.75\r\n"
      "nv_inference_request_success{model=\"m\",version=\"1\"} 10\nnv_inference_request_success{model=\"m\",version=\"2\"} 5\n"
      "nv_inference_request_success{model=\"other_model\",version=\"1\"} 1000\n"
      "nv_inference_request_failure{a_model=\"m\",model=\"x\\\"m\",version=\"1\"} 3\n",
      "m");
  const ServerReading told{{{"utilization.gpu0", "1", false}, 0.5}, {{"utilization.gpu1", "1", false}, 0.25},
                           {{"power.gpu0", "W", false}, 300},       {{"power.gpu1", "W", false}, 90},
                           {{"cpu_utilization", "1", false}, 0.75}, {{"requests", "1", true}, 15}};
  EXPECT_EQ(read, told) << "GPU-b is the first that is named; what is no metric, or another model's, is left out";
  EXPECT_THAT(read_metrics("", "m"), SizeIs(0));
}

TEST(KserveMetrics, OfAWindow) {
  const auto reading = [](double utilization, double memory, std::optional<double> power, double energy) {
    ServerReading one{{{"utilization.gpu0", "1", false}, utilization},
                      {{"memory_used.gpu0", "bytes", false}, memory},
                      {{"energy.gpu0", "J", true}, energy}};
    if (power) one[{"power.gpu0", "W", false}] = *power;
    return one;
  };
  const std::vector<ServerReading> readings{reading(0.5, 10, 100, 1000), reading(1, 30, {}, 1400), reading(0.75, 20, 300, 1500)};
  const auto counts = over_window(readings);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_utilization"), 0.75);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_power_w"), 200) << "of those that told it";
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_memory_used_bytes"), 30);
  EXPECT_DOUBLE_EQ(counts.at("server.gpu_energy_j"), 500);
  const std::vector<ServerReading> restarted{reading(0.5, 10, 100, 1000), reading(1, 30, 200, 3)};
  EXPECT_FALSE(over_window(restarted).contains("server.gpu_energy_j"));
}

// --- faults of single queries: the others go on

struct FaultCase {
  std::string name;
  ScriptedReply reply;
  std::string says;
};
void PrintTo(const FaultCase& fault, std::ostream* out) { *out << fault.name; }
class KserveFault : public testing::TestWithParam<FaultCase> {};

TEST_P(KserveFault, IsToldAndTheNextQueryIsAnswered) {
  bool broken = false;
  ScriptedModel script;
  script.instead = [&](const ScriptedRequest& request) -> std::optional<ScriptedReply> {
    if (request.path != "/v2/models/double/infer" || !broken) return std::nullopt;
    broken = false;
    return GetParam().reply;
  };
  ScriptedServer server{script};
  Rig rig(server.host(), {{"timeout", "300ms"}});
  EXPECT_EQ(rig.fate(), "ok");
  broken = true;
  EXPECT_THAT(rig.fate(), HasSubstr(GetParam().says));
  const size_t asked = server.seen_at("/v2/models/double/infer");
  EXPECT_EQ(asked, 2U) << "nothing is sent again";
  EXPECT_EQ(rig.fate(), "ok");
  EXPECT_THAT(rig.floats(0), ElementsAre(0, 2, 4));
  EXPECT_TRUE(rig.session->outlives_failures());
}

using End = ScriptedReply::End;
std::string json_answer(const std::string& output) { return R"({"outputs":[)" + output + "]}"; }

INSTANTIATE_TEST_SUITE_P(
    Kinds, KserveFault,
    testing::Values(
        FaultCase{"Reset", {.end = End::reset, .silent = true}, "the connection was reset or closed before an answer"},
        FaultCase{"Closed", {.end = End::close, .silent = true}, "the connection was reset or closed before an answer"},
        FaultCase{"TimeOut", {.end = End::hang, .silent = true}, "no answer within 300 ms"},
        FaultCase{"BrokenOff", {.body = "{\"out", .missing = 100}, "the answer broke off"},
        FaultCase{"GreyFailure",
                  {.status = 500, .body = R"({"error":"the stub is gone"})"},
                  "answered 500 Internal Server Error: the stub is gone"},
        FaultCase{"Overloaded", {.status = 503, .body = ""}, "answered 503 Service Unavailable"},
        FaultCase{
            "TooMany", {.status = 429, .body = "slow down", .content_type = "text/plain"}, "answered 429 Too Many Requests: slow down"},
        FaultCase{"Redirect", {.status = 307, .headers = {"Location: /v2/models/double/infer"}}, "a redirect, which is not followed"},
        FaultCase{"Page", {.body = "<html>please log in</html>", .content_type = "text/html"}, "a page (HTML or XML)"},
        FaultCase{"NoJson", {.body = "fine"}, "no answer of KServe v2"},
        FaultCase{"NoOutputs", {.body = json_answer("")}, "output 'y' is missing"},
        FaultCase{"EmptyTensor", {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[0,3],"data":[]})")}, "output 'y' is empty"},
        FaultCase{"OtherShape",
                  {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]})")},
                  "has the shape [1,4], [1,3] were asked for"},
        FaultCase{"OtherBatch",
                  {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[2,3],"data":[1,2,3,4,5,6]})")},
                  "has the shape [2,3]"},
        FaultCase{"OtherType",
                  {.body = json_answer(R"({"name":"y","datatype":"INT32","shape":[1,3],"data":[1,2,3]})")},
                  "is INT32, the metadata tell FP32"},
        FaultCase{"TooFewNumbers",
                  {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3],"data":[1,2]})")},
                  "has not the numbers of its shape"},
        FaultCase{"TextForNumbers",
                  {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3],"data":["a","b","c"]})")},
                  "has not the numbers of its shape"},
        FaultCase{"NoData", {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3]})")}, "has no data"},
        FaultCase{"TooFewBytes",
                  {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3],"parameters":{"binary_data_size":12}})")},
                  "0 bytes of tensors, the answer tells 12"},
        FaultCase{"OtherBytes",
                  {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3],"parameters":{"binary_data_size":16}})")},
                  "has 16 bytes, its shape asks for 12"},
        FaultCase{"HugeShape",
                  {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[4611686018427387904,4],"data":[]})")},
                  "has no shape"},
        FaultCase{"TooLarge", {.body = std::string(2'000'000, ' ')}, "an answer of more than"}),
    [](const auto& one) { return one.param.name; });

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
    if (request.path != "/v2/models/double/infer" || ++answers != 1) return std::nullopt;
    ScriptedReply reply = script.answer(request);
    reply.drop_unsaid = true;
    return reply;
  };
  ScriptedServer server{[&](const ScriptedRequest& request) { return script(request); }};
  Rig rig(server.host());
  EXPECT_EQ(rig.fate(), "ok");
  const std::string second = rig.fate();
  // Whether the client had seen the end of the connection before it sent is chance: then it takes a new one, and nothing was lost.
  EXPECT_TRUE(second == "ok" || second.find("reset or closed") != std::string::npos) << second;
  EXPECT_EQ(server.seen_at("/v2/models/double/infer"), second == "ok" ? 2U : 1U);
}

TEST(Kserve, CancelGivesUpWhatIsNotAnswered) {
  ScriptedServer server{instead_of("/v2/models/double/infer", {.end = End::hang, .silent = true})};
  Rig rig(server.host());
  rig.session->enqueue(0, std::vector<uint32_t>{0}, 1);
  rig.session->enqueue(1, std::vector<uint32_t>{0}, 2);
  rig.session->cancel();
  EXPECT_THAT(rig.statuses(), ElementsAre(Status::cancelled, Status::cancelled));
}

// --- servers that are none, or not the right ones

TEST(KserveRefusal, NobodyListens) {
  std::string host;
  {
    ScriptedServer server{ScriptedModel()};
    host = server.host();
  }
  KserveBackend backend;
  const Error error = failure_of([&] { backend.remote_model("double", request_to(host)); });
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("connection refused"), HasSubstr("ready_within")));
}

TEST(KserveRefusal, NoKserveServer) {
  ScriptedModel none;
  none.instead = [](const ScriptedRequest&) { return ScriptedReply{.status = 404, .body = "not found", .content_type = "text/plain"}; };
  EXPECT_THAT(refusal(none).what(), HasSubstr("no KServe v2 server: /v2 answered 404"));
  EXPECT_THAT(refusal(instead_of("/v2", {.body = R"({"hello":"world"})"})).what(), HasSubstr("no KServe v2 server: /v2 tells no name"));
  EXPECT_THAT(refusal(instead_of("/v2", {.body = "[1, 2"})).what(),
              AllOf(HasSubstr("http://127.0.0.1:"), HasSubstr("is not JSON of KServe v2")));
  EXPECT_THAT(refusal(instead_of("/v2", {})).what(), HasSubstr("no KServe v2 server: the answer to /v2 is empty"));
}

TEST(KserveRefusal, AnHtmlPageOfAProxy) {
  const ScriptedReply page{.status = 502, .body = "<html>bad gateway</html>", .content_type = "text/html"};
  EXPECT_THAT(refusal(instead_of("/v2", page)).what(), HasSubstr("HTML page: a proxy or another service"));
  EXPECT_THAT(refusal(instead_of("/v2", {.body = "<html>welcome</html>", .content_type = "text/html"})).what(), HasSubstr("HTML page"));
}

TEST(KserveRefusal, VersionOneOfTheProtocolAlone) {
  ScriptedModel script;
  script.instead = [](const ScriptedRequest& request) {
    return request.path == "/v1/models" ? ScriptedReply{.body = R"({"models":["double"]})"} : ScriptedReply{.status = 404};
  };
  EXPECT_THAT(refusal(script).what(), HasSubstr("speaks KServe v1 alone"));
}

TEST(KserveRefusal, RedirectsAreNotFollowed) {
  ScriptedServer other{ScriptedModel()};
  ScriptedServer server{instead_of("/v2", {.status = 301, .headers = {"Location: " + other.url() + "/v2"}})};
  KserveBackend backend;
  EXPECT_THAT(failure_of([&] { backend.remote_model("double", request_to(server.host())); }).what(),
              HasSubstr("a redirect, which is not followed"));
  EXPECT_TRUE(other.seen().empty());
}

TEST(KserveRefusal, AnUnknownModelOrVersion) {
  const Error model = refusal({}, "duoble");
  EXPECT_EQ(model.kind(), ErrorKind::usage);
  EXPECT_THAT(model.what(), HasSubstr("unknown model 'duoble', did you mean 'double'?"));
  const Error version = refusal({}, "double:9");
  EXPECT_EQ(version.kind(), ErrorKind::usage);
  EXPECT_THAT(version.what(), HasSubstr("double has no version 9; it has 1"));
  for (const char* name : {"", ":", "a:", "../v1", "a b", "a/b", "..", "a?x=1"})
    EXPECT_THAT(refusal({}, name).what(), HasSubstr("names no model on a server")) << name;
}

TEST(KserveRefusal, AModelThatIsNotReady) {
  const Error error = refusal({}, "late");
  EXPECT_EQ(error.kind(), ErrorKind::refused);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("late is not ready"), HasSubstr("ready_within=60s")));
}

TEST(Kserve, WaitsForAServerThatIsStarting) {
  int asked = 0;
  ScriptedModel script;
  script.instead = [&](const ScriptedRequest& request) -> std::optional<ScriptedReply> {
    if (request.path != "/v2/models/double/ready" || ++asked > 3) return std::nullopt;
    return ScriptedReply{.status = 503, .body = R"({"error":"loading"})"};
  };
  ScriptedServer server{script};
  KserveBackend backend;
  EXPECT_EQ(backend.remote_model("double", request_to(server.host(), {{"ready_within", "60s"}})).inputs.size(), 1U);
  EXPECT_EQ(asked, 4);
}

TEST(KserveRefusal, MetadataThatAreNone) {
  const auto said = [](const std::string& metadata) {
    return std::string(refusal(instead_of("/v2/models/double", {.body = metadata})).what());
  };
  EXPECT_THAT(said("{}"), HasSubstr("does not tell the inputs"));
  EXPECT_THAT(
      said(R"({"inputs":[{"name":"x","datatype":"BYTES","shape":[1]}],"outputs":[]})"),
      AllOf(HasSubstr("datatype 'BYTES' are not measured"), HasSubstr("the elements of 'x'"), HasSubstr("name the model that takes")));
  EXPECT_THAT(said(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[-2]}],"outputs":[]})"), HasSubstr("a size that is none"));
  EXPECT_THAT(said(R"({"inputs":[{"datatype":"FP32","shape":[1]}],"outputs":[]})"), HasSubstr("a tensor without name or shape"));
  EXPECT_THAT(said(R"({"inputs":[7],"outputs":[]})"), HasSubstr("no object"));
}

TEST(KserveRefusal, TlsThatFails) {
  ScriptedServer server{ScriptedModel()};  // which speaks none
  EngineRequest request = request_to(server.host());
  request.placement.devices[0].kind = "https";
  KserveBackend backend;
  EXPECT_THAT(failure_of([&] { backend.remote_model("double", request); }).what(), HasSubstr("TLS failed"));
}

TEST(KserveRefusal, WhatIsOfGrpcAlone) {
  KserveBackend backend;
  for (const char* option : {"stream", "channels"}) {
    const Error error = failure_of([&] {
      backend.remote_model("double", request_to("127.0.0.1:1", {{option, option[0] == 's' ? "on" : "2"}}));
    });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr(std::string(option) + " is of gRPC"));
  }
}

// --- tokens

TEST(KserveToken, ComesFromAFileAndGoesToTheServerAlone) {
  const TemporaryFolder folder;
  std::ofstream(folder / "token") << "s3cret-word\n";
  ScriptedModel script = instead_of("/v2/models/double/infer", {.status = 401, .body = R"({"error":"who are you"})"});
  ScriptedServer server{script};
  Rig rig(server.host(), {{"token_file", folder / "token"}});
  EXPECT_THAT(rig.fate(), AllOf(HasSubstr("answered 401 Unauthorized: who are you"), Not(HasSubstr("s3cret"))));
  for (const ScriptedRequest& request : server.seen()) EXPECT_EQ(request.headers.at("authorization"), "Bearer s3cret-word") << request.path;
  EXPECT_THAT(rig.backend.version(), Not(HasSubstr("s3cret")));
}

TEST(KserveToken, DoesNotTravelUnencrypted) {
  const TemporaryFolder folder;
  std::ofstream(folder / "token") << "s3cret";
  std::ofstream(folder / "two") << "two words";
  std::ofstream(folder / "none") << "\n";
  KserveBackend backend;
  const auto said = [&](const std::string& host, const std::string& file) {
    return std::string(failure_of([&] { backend.remote_model("double", request_to(host, {{"token_file", folder / file}})); }).what());
  };
  EXPECT_THAT(said("triton.example:8000", "token"), AllOf(HasSubstr("unencrypted"), HasSubstr("https://"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(said("127.0.0.1.example:8000", "token"), HasSubstr("unencrypted"));
  EXPECT_THAT(said("127.0.0.1:1", "two"), HasSubstr("a token is one word"));
  EXPECT_THAT(said("127.0.0.1:1", "none"), HasSubstr("is empty"));
  EXPECT_THAT(said("127.0.0.1:1", "absent"), HasSubstr("cannot be read"));
}

// --- proxies

TEST(Kserve, NoProxyOfTheEnvironmentIsUsed) {
  ScriptedServer proxy{ScriptedModel()}, server{ScriptedModel()};
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  KserveBackend backend;
  EXPECT_EQ(backend.remote_model("double", request_to(server.host())).inputs.size(), 1U);
  ::unsetenv("http_proxy");
  EXPECT_TRUE(proxy.seen().empty());
}

}  // namespace
}  // namespace deepgap
