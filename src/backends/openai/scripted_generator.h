// For tests: a server that generates, by a script of events, and a Session on it.
#pragma once

#include "backends/http/scripted_server.h"
#include "backends/openai/openai_backend.h"
#include "base/clocks.h"
#include "base/test_model.h"

#include <deepgap/error.h>
#include <deepgap/generate.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

inline std::string event(const std::string& json) { return "data: " + json + "\n\n"; }
inline std::string text_event(const std::string& text) { return event(R"({"choices":[{"index":0,"text":")" + text + R"("}]})"); }
inline std::string stop_event(const std::string& reason) {
  return event(R"({"choices":[{"index":0,"text":"","finish_reason":")" + reason + R"("}]})");
}
inline std::string usage_event(int64_t prompt, int64_t completion, int64_t cached = 0) {
  return event(R"({"choices":[],"usage":{"prompt_tokens":)" + std::to_string(prompt) + R"(,"completion_tokens":)" +
               std::to_string(completion) + R"(,"prompt_tokens_details":{"cached_tokens":)" + std::to_string(cached) + "}}}");
}
inline std::string done_event() { return "data: [DONE]\n\n"; }
inline std::string usual_stream() {
  return text_event("a") + text_event("b") + text_event("c") + stop_event("length") + usage_event(7, 3) + done_event();
}
inline ScriptedReply stream_reply(std::string body) { return {.body = std::move(body), .content_type = "text/event-stream"}; }

// Lists the model `tiny`; the first request of an endpoint, deepgap's own, gets the usual stream, and others what `stream` says.
class ScriptedGenerator {
 public:
  using Script = ScriptedServer::Script;
  explicit ScriptedGenerator(Script stream, Script instead = {}) : stream_(std::move(stream)), instead_(std::move(instead)) {}
  ScriptedReply operator()(const ScriptedRequest& request) {
    if (instead_) {
      ScriptedReply reply = instead_(request);
      if (reply.status != 0) return reply;
    }
    if (request.path == "/v1/models") return {.body = R"({"data":[{"id":"tiny"}]})"};
    if (request.path != "/v1/completions" && request.path != "/v1/chat/completions") return {.status = 404, .body = "{}"};
    return (*asked_)++ == 0 ? stream_reply(usual_stream()) : stream_(request);
  }

 private:
  Script stream_, instead_;
  std::shared_ptr<int> asked_ = std::make_shared<int>(0);
};

inline EngineRequest generate_on(const std::string& host, std::map<std::string, std::string> options = {}) {
  EngineRequest request;
  request.task = Task::generate;
  request.placement = {1, {{host, "http", 0}}};
  request.options = std::move(options);
  return request;
}

// A Session on `tiny` with one prompt.
class GeneratorRig {
 public:
  explicit GeneratorRig(const std::string& host, std::map<std::string, std::string> options = {}, const std::string& prompt = " one two",
                        std::array<int64_t, prompt_fields> request = {3, 0, 0}, const std::string& model = "tiny")
      : prompt_(prompt), request_(request), text_shape_{1, static_cast<int64_t>(prompt.size())} {
    LoadOptions load{generate_on(host, std::move(options))};
    load.slots = 2;
    load.clock = clock.get();
    load.completion = [this](std::span<const Done> done) { note(done); };
    model_ = std::make_unique<Named>(backend.remote_model(model, load));
    session = backend.load(*model_, load);
    session->stage(
        std::vector<std::vector<TensorView>>{{{DataType::u8, text_shape_, reinterpret_cast<const std::byte*>(prompt_.data())},
                                              {DataType::i64, fields_shape_, reinterpret_cast<const std::byte*>(request_.data())}}});
  }
  // Returns why a query failed, or "ok".
  std::string fate() {
    session->enqueue(0, std::vector<uint32_t>{0}, 5);
    session->drain();
    return fate_;
  }

  OpenaiBackend backend;
  std::unique_ptr<Clock> clock = make_real_clock();
  std::vector<Mark> marks;  // marks of the last query
  TokenCounts counts;       // likewise
  std::unique_ptr<Session> session;

 private:
  class Named final : public TestModel {
   public:
    explicit Named(Graph graph) : TestModel(std::move(graph)) {}
  };
  void note(std::span<const Done> done) {
    for (const Done& one : done) {
      fate_ = one.status == Status::ok ? "ok" : one.status == Status::cancelled ? "cancelled" : one.error->what();
      marks.assign(one.marks.begin(), one.marks.end());
      counts = one.tokens == nullptr ? TokenCounts() : *one.tokens;
    }
  }

  std::string prompt_, fate_;
  std::array<int64_t, prompt_fields> request_;
  Shape text_shape_, fields_shape_{1, static_cast<int64_t>(prompt_fields)};
  std::unique_ptr<Named> model_;
};

}  // namespace deepgap
