// The openai backend against servers that are scripted, most of them to misbehave.
#include "backends/openai/scripted_generator.h"
#include "base/test_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// Returns what becomes of a query that is answered so.
std::string fate_of(const ScriptedReply& reply, std::map<std::string, std::string> options = {}) {
  ScriptedServer server{ScriptedGenerator([&](const ScriptedRequest&) { return reply; })};
  return GeneratorRig(server.host(), std::move(options)).fate();
}
std::string fate_of_stream(const std::string& stream) { return fate_of(stream_reply(stream)); }

// Returns why nothing is measured on a server that answers a path so.
Error refusal(const std::string& path, const ScriptedReply& reply, const std::string& model = "tiny") {
  ScriptedServer server{
      ScriptedGenerator([](const ScriptedRequest&) { return stream_reply(usual_stream()); },
                        [&](const ScriptedRequest& request) { return request.path == path ? reply : ScriptedReply{.status = 0}; })};
  return failure_of([&] { GeneratorRig(server.host(), {}, " one", {3, 0, 0}, model); });
}

TEST(Openai, TokensAreMarksAndCountsOfAQuery) {
  ScriptedServer server{ScriptedGenerator([](const ScriptedRequest&) { return stream_reply(usual_stream()); })};
  GeneratorRig rig(server.host());
  EXPECT_EQ(rig.fate(), "ok");
  ASSERT_THAT(rig.marks, SizeIs(3));
  EXPECT_EQ(rig.marks[0].id, MarkId::tokens);
  EXPECT_EQ(rig.counts.input, 7);
  EXPECT_EQ(rig.counts.output, 3);
  EXPECT_EQ(rig.counts.cached, 0);
  EXPECT_EQ(rig.counts.chunks, 3);
  EXPECT_EQ(rig.counts.stop, StopReason::limit);
  EXPECT_FALSE(rig.counts.split);
}

TEST(Openai, EachRequestIsUniqueUnlessAsked) {
  ScriptedServer server{ScriptedGenerator([](const ScriptedRequest&) { return stream_reply(usual_stream()); })};
  GeneratorRig unique(server.host());
  unique.fate();
  unique.fate();
  GeneratorRig as_it_is(server.host(), {}, " one two", {3, 0, -1});
  as_it_is.fate();
  std::vector<std::string> prompts;
  for (const ScriptedRequest& request : server.seen())
    if (request.path == "/v1/completions") prompts.push_back(nlohmann::json::parse(request.body)["prompt"]);
  ASSERT_THAT(prompts, SizeIs(5));  // with one of deepgap's own for each Session
  EXPECT_THAT(prompts[1], testing::EndsWith(" one two"));
  EXPECT_GT(prompts[1].size(), std::string(" one two").size());
  EXPECT_NE(prompts[1], prompts[2]);
  EXPECT_EQ(prompts[4], " one two");
}

TEST(Openai, AConversationGoesToTheChatEndpoint) {
  ScriptedServer server{ScriptedGenerator([](const ScriptedRequest&) {
    return stream_reply(event(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})") +
                        event(R"({"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]})") +
                        event(R"({"choices":[{"index":0,"delta":{"content":"yes"}}]})") +
                        event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})") + usage_event(9, 3, 4) + done_event());
  })};
  const std::string messages = R"([{"role":"user","content":"a \"quoted\" word"}])";
  GeneratorRig rig(server.host(), {}, messages, {8, 1, static_cast<int64_t>(messages.find("a \\"))});
  EXPECT_EQ(rig.fate(), "ok");
  ASSERT_THAT(rig.marks, SizeIs(2)) << "an empty first chunk holds no token";
  EXPECT_EQ(rig.marks[0].id, MarkId::reasoning_tokens);
  EXPECT_EQ(rig.marks[1].id, MarkId::tokens);
  EXPECT_EQ(rig.counts.cached, 4);
  EXPECT_EQ(rig.counts.stop, StopReason::finished);
  const ScriptedRequest last = server.seen().back();
  EXPECT_EQ(last.path, "/v1/chat/completions");
  const auto body = nlohmann::json::parse(last.body);
  EXPECT_THAT(body["messages"][0]["content"].get<std::string>(), testing::EndsWith(R"(a "quoted" word)"));
  EXPECT_EQ(body["max_tokens"], 8);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
}

TEST(Openai, CallsOfToolsAreTokens) {
  ScriptedServer server{ScriptedGenerator([](const ScriptedRequest&) {
    return stream_reply(event(R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]})") +
                        event(R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]})") +
                        event(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})") + usage_event(5, 2) + done_event());
  })};
  GeneratorRig rig(server.host());
  EXPECT_EQ(rig.fate(), "ok");
  EXPECT_THAT(rig.marks, SizeIs(2));
  EXPECT_EQ(rig.counts.stop, StopReason::tool_call);
}

TEST(Openai, AnswersThatAreNoneAreFailures) {
  EXPECT_THAT(fate_of({.status = 429, .body = R"({"error":{"message":"too many"}})", .headers = {"Retry-After: 7"}}),
              AllOf(HasSubstr("answered 429 Too Many Requests"), HasSubstr("Retry-After: 7")));
  EXPECT_THAT(fate_of({.status = 400, .body = R"({"error":{"message":"the prompt exceeds the context of 4096 tokens"}})"}),
              HasSubstr("exceeds the context"));
  EXPECT_THAT(fate_of({.body = "<html></html>", .content_type = "text/html"}), HasSubstr("not a stream of events"));
  EXPECT_THAT(fate_of({.body = R"({"choices":[{"text":"all at once"}]})"}), HasSubstr("not a stream of events"));
  EXPECT_THAT(fate_of({.body = text_event("a"), .content_type = "text/event-stream", .end = ScriptedReply::End::close, .missing = 99}),
              HasSubstr("broke off"));
  EXPECT_THAT(fate_of({.end = ScriptedReply::End::reset, .silent = true}), HasSubstr("reset or closed"));
  EXPECT_THAT(fate_of({.body = text_event("a"), .content_type = "text/event-stream", .end = ScriptedReply::End::hang, .missing = 99},
                      {{"timeout", "2s"}}),
              HasSubstr("no answer within 2 s"));
}

TEST(Openai, StreamsThatAreWrongAreFailures) {
  EXPECT_THAT(fate_of_stream(R"({"choices":[{"text":"a"}]})"
                             "\n\n"),
              HasSubstr("without 'data:'"));
  EXPECT_THAT(fate_of_stream(text_event("a")), HasSubstr("without [DONE]"));
  EXPECT_EQ(fate_of_stream(text_event("a") + stop_event("stop")), "ok") << "some servers leave [DONE] out";
  EXPECT_THAT(fate_of_stream(""), HasSubstr("empty"));
  EXPECT_THAT(fate_of_stream(text_event("a") + event(R"({"error":{"message":"out of memory"}})")), HasSubstr("out of memory"));
  EXPECT_THAT(fate_of_stream(event("{torn")), HasSubstr("not a JSON object"));
  EXPECT_THAT(fate_of_stream(event(R"({"object":"else"})")), HasSubstr("no choices"));
  EXPECT_THAT(fate_of_stream(event(R"({"choices":[{"index":0,"text":"a"},{"index":1,"text":"b"}]})")), HasSubstr("several choices"));
  EXPECT_THAT(fate_of_stream("id: 4\n" + text_event("a") + "id: 4\n" + text_event("a") + done_event()), HasSubstr("twice"));
  const auto counting = [](const std::string& text, int count) {
    return event(R"({"choices":[{"text":")" + text + R"("}],"usage":{"prompt_tokens":1,"completion_tokens":)" + std::to_string(count) +
                 "}}");
  };
  EXPECT_THAT(fate_of_stream(counting("a", 5) + counting("b", 3)), HasSubstr("went back from 5 to 3"));
}

TEST(Openai, AServerThatIsNotOneIsRefused) {
  EXPECT_THAT(refusal("/v1/models", {.body = "<html>", .content_type = "text/html"}).what(), HasSubstr("HTML page"));
  EXPECT_THAT(refusal("/v1/models", {.status = 401, .body = "{}"}).what(), HasSubstr("DEEPGAP_OPENAI_TOKEN"));
  EXPECT_THAT(refusal("/v1/completions", {.body = R"({"choices":[{"text":"all"}],"usage":{}})"}).what(), HasSubstr("does not stream"));
  EXPECT_THAT(refusal("/v1/completions", {.status = 404, .body = "{}"}).what(), HasSubstr("/v1/completions answered 404"));
  const std::string deep = R"({"error":)" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  EXPECT_THAT(refusal("/v1/models", {.status = 500, .body = deep}).what(), HasSubstr("/v1/models answered 500"));
  const Error unknown = refusal("", {}, "tinny");
  EXPECT_EQ(unknown.kind(), ErrorKind::usage);
  EXPECT_THAT(unknown.what(), HasSubstr("did you mean 'tiny'"));
}

TEST(Openai, AServerThatDoesNotKnowVendorFieldsGetsNone) {
  ScriptedServer server{[](const ScriptedRequest& request) -> ScriptedReply {
    if (request.path == "/v1/models") return {.body = R"({"data":[{"id":"tiny"}]})"};
    if (request.path != "/v1/completions") return {.status = 404};
    if (request.body.find("continuous_usage_stats") != std::string::npos) return {.status = 400, .body = R"({"error":"unknown field"})"};
    return stream_reply(usual_stream());
  }};
  GeneratorRig rig(server.host());
  EXPECT_EQ(rig.fate(), "ok");
  EXPECT_THAT(server.seen().back().body, AllOf(Not(HasSubstr("ignore_eos")), HasSubstr("include_usage")));
}

TEST(Openai, AServerThatClosesConnectionsUnannouncedGetsANewOneForEachRequest) {
  for (const bool closes : {true, false}) {
    ScriptedServer server{[closes](const ScriptedRequest& request) -> ScriptedReply {
      if (request.path == "/v1/models") return {.body = R"({"data":[{"id":"tiny"}]})"};
      if (request.path != "/v1/completions") return {.status = 404};
      ScriptedReply reply = stream_reply(usual_stream());
      reply.drop_unsaid = closes;
      return reply;
    }};
    GeneratorRig rig(server.host());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(rig.fate(), "ok");
    EXPECT_EQ(rig.session->take_counts()["connections.opened"], closes ? 5 : 1);
  }
}

TEST(Openai, AnswersAreCountedByTheServersTokenizer) {
  ScriptedServer server{ScriptedGenerator([](const ScriptedRequest&) { return stream_reply(usual_stream()); },
                                          [](const ScriptedRequest& request) {
                                            if (request.path != "/tokenize") return ScriptedReply{.status = 0};
                                            return ScriptedReply{.body = R"({"tokens":[1,2,3,4]})"};
                                          })};
  GeneratorRig rig(server.host());
  rig.fate();
  const auto counts = rig.session->take_counts();
  EXPECT_EQ(counts.at("tokenize.requests"), 1);
  EXPECT_EQ(counts.at("tokenize.tokens"), 4);
  EXPECT_EQ(counts.at("tokenize.counted"), 3);
  EXPECT_EQ(counts.at("requests"), 1);
}

TEST(Openai, OptionsThatCannotBeAreOneLine) {
  const auto said = [](const std::string& name, const std::string& value) {
    return std::string(failure_of([&] { openai_options().parse({{name, value}}); }).what());
  };
  EXPECT_THAT(said("extra", "[1]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(said("extra", R"({"stream":false})"), HasSubstr("deepgap's own"));
  EXPECT_THAT(said("metrics", "http://me:word@host/"), HasSubstr("without user"));
  EXPECT_THAT(said("endpoint", "chats"), HasSubstr("chat"));
}

}  // namespace
}  // namespace deepgap
