// Things that are not servers, or not the right ones, and what is not sent to them: over HTTP.
#include "backends/kserve/by_http.h"
#include "base/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string said_of(const ScriptedReply& reply, const std::string& path = "/v2") {
  return refusal<ByHttp>(instead_of<ByHttp>(path, reply)).what();
}

TEST(KserveRefusal, NoKserveServer) {
  ScriptedModel none;
  none.instead = [](const ScriptedRequest&) { return ScriptedReply{.status = 404, .body = "not found", .content_type = "text/plain"}; };
  EXPECT_THAT(refusal<ByHttp>(none).what(), HasSubstr("not a KServe v2 server: /v2 answered 404"));
  EXPECT_THAT(said_of({.body = R"({"hello":"world"})"}), HasSubstr("not a KServe v2 server: the answer to /v2 has no name"));
  EXPECT_THAT(said_of({.body = "[1, 2"}), AllOf(HasSubstr("http://127.0.0.1:"), HasSubstr("is not JSON of KServe v2")));
  EXPECT_THAT(said_of({}), HasSubstr("not a KServe v2 server: the answer to /v2 is empty"));
}

TEST(KserveRefusal, AnHtmlPageOfAProxy) {
  const ScriptedReply page{.status = 502, .body = "<html>bad gateway</html>", .content_type = "text/html"};
  EXPECT_THAT(said_of(page), HasSubstr("HTML page: a proxy or another service"));
  EXPECT_THAT(said_of({.body = "<html>welcome</html>", .content_type = "text/html"}), HasSubstr("HTML page"));
}

TEST(KserveRefusal, VersionOneOfTheProtocolAlone) {
  ScriptedModel script;
  script.instead = [](const ScriptedRequest& request) {
    return request.path == "/v1/models" ? ScriptedReply{.body = R"({"models":["double"]})"} : ScriptedReply{.status = 404};
  };
  EXPECT_THAT(refusal<ByHttp>(script).what(), HasSubstr("speaks KServe v1 alone"));
}

TEST(KserveRefusal, RedirectsAreNotFollowed) {
  ScriptedServer other{ScriptedModel()};
  ScriptedServer server{instead_of<ByHttp>("/v2", {.status = 301, .headers = {"Location: " + other.url() + "/v2"}})};
  KserveBackend backend;
  EXPECT_THAT(failure_of([&] { backend.remote_model("double", request_by<ByHttp>(server.host())); }).what(),
              HasSubstr("a redirect, which is not followed"));
  EXPECT_TRUE(other.seen().empty());
}

TEST(KserveRefusal, AWordThatNamesNoModel) {
  for (const char* name : {"", ":", "a:", "../v1", "a b", "a/b", "..", "a?x=1"})
    EXPECT_THAT(refusal<ByHttp>({}, name).what(), HasSubstr("names no model on a server")) << name;
}

TEST(KserveRefusal, MetadataThatAreNone) {
  const auto said = [](const std::string& metadata) { return said_of({.body = metadata}, "/v2/models/double"); };
  EXPECT_THAT(said("{}"), HasSubstr("does not report the inputs"));
  EXPECT_THAT(
      said(R"({"inputs":[{"name":"x","datatype":"BYTES","shape":[1]}],"outputs":[]})"),
      AllOf(HasSubstr("datatype 'BYTES' cannot be measured"), HasSubstr("elements of 'x'"), HasSubstr("name the model that takes")));
  EXPECT_THAT(said(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[-2]}],"outputs":[]})"), HasSubstr("an invalid size"));
  EXPECT_THAT(said(R"({"inputs":[{"datatype":"FP32","shape":[1]}],"outputs":[]})"), HasSubstr("a tensor has no name or shape"));
  EXPECT_THAT(said(R"({"inputs":[7],"outputs":[]})"), HasSubstr("not an object"));
}

TEST(KserveRefusal, TensorsThatAreListedTwice) {
  const std::string x = R"({"name":"x","datatype":"FP32","shape":[-1,4]})", y = R"({"name":"y","datatype":"FP32","shape":[-1,4]})";
  const auto said = [](const std::string& inputs, const std::string& outputs) {
    return said_of({.body = R"({"name":"double","inputs":[)" + inputs + R"(],"outputs":[)" + outputs + "]}"}, "/v2/models/double");
  };
  EXPECT_THAT(said(x + "," + x, y), HasSubstr("the metadata of double list input 'x' twice"));
  EXPECT_THAT(said(x, y + "," + y), HasSubstr("the metadata of double list output 'y' twice"));
}

TEST(KserveRefusal, WhatIsOfGrpcAlone) {
  KserveBackend backend;
  for (const char* option : {"stream", "channels"}) {
    const Error error = failure_of([&] {
      backend.remote_model("double", request_by<ByHttp>("127.0.0.1:1", {{option, option[0] == 's' ? "on" : "2"}}));
    });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr(std::string(option) + " is of gRPC"));
  }
}

TEST(KserveRefusal, AFileOfCertificatesThatIsNotThere) {
  KserveBackend backend;
  const std::string said = error_of([&] { backend.remote_model("double", request_by<ByHttp>("127.0.0.1:1", {{"ca_file", "/nowhere"}})); });
  EXPECT_EQ(said, "kserve: ca_file=/nowhere cannot be read");
}

TEST(KserveToken, ComesFromAFileAndGoesToTheServerAlone) {
  const TemporaryFolder folder;
  std::ofstream(folder / "token") << "s3cret-word\n";
  ScriptedModel script = instead_of<ByHttp>(ByHttp::infer, {.status = 401, .body = R"({"error":"who are you"})"});
  ScriptedServer server{script};
  Rig rig(server.host(), {{"token_file", folder / "token"}});
  EXPECT_THAT(rig.fate(), AllOf(HasSubstr("answered 401 Unauthorized: who are you"), Not(HasSubstr("s3cret"))));
  for (const ScriptedRequest& request : server.seen()) EXPECT_EQ(request.headers.at("authorization"), "Bearer s3cret-word") << request.path;
  EXPECT_THAT(rig.backend.version(), Not(HasSubstr("s3cret")));
}

// Returns what a server says that repeats the request's headers at a place, long enough that a line is cut within the token.
std::string said_by_an_echo(const std::string& place, const std::string& before, const std::string& after, int status = 500) {
  const TemporaryFolder folder;
  std::ofstream(folder / "token") << "s3cret/word-of-many-letters";
  ScriptedModel script;
  script.instead = [=](const ScriptedRequest& request) -> std::optional<ScriptedReply> {
    if (request.path != place) return std::nullopt;
    return ScriptedReply{.status = status, .body = before + request.headers.at("authorization") + after};
  };
  ScriptedServer server{script};
  try {
    Rig rig(server.host(), {{"token_file", folder / "token"}});
    return rig.fate() + " by " + rig.backend.version() + " with " +
           rig.backend.remote_model("double", request_to(server.host())).values[0].name;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(KserveToken, ThatAServerRepeatsIsNotShown) {
  const auto is_hidden = AllOf(Not(HasSubstr("s3cret")), Not(HasSubstr("many-letters")));
  for (const char* place : {"/v2", "/v2/models/double/ready", "/v2/models/double", "/v2/models/double/infer"}) {
    EXPECT_THAT(said_by_an_echo(place, R"({"error":"no right for )", R"("})"),
                AllOf(HasSubstr("no right for Bearer [redacted]"), is_hidden));
    EXPECT_THAT(said_by_an_echo(place, "no right for ", ""), AllOf(HasSubstr("no right for Bearer [redacted]"), is_hidden));
    for (const size_t before : {120U, 140U, 150U, 155U, 630U}) EXPECT_THAT(said_by_an_echo(place, std::string(before, 'x'), ""), is_hidden);
    EXPECT_THAT(said_by_an_echo(place, "", "", 200), is_hidden);
  }
  EXPECT_THAT(said_by_an_echo("/v2", R"({"name":"echo )", R"(","version":"1"})", 200),
              AllOf(HasSubstr("echo Bearer [redacted] 1"), is_hidden));
  const std::string tensor = R"([{"name":"y","datatype":"FP32","shape":[1]}])";
  EXPECT_THAT(said_by_an_echo("/v2/models/double", R"({"inputs":[{"name":")",
                              R"(","datatype":"FP32","shape":[1]}],"outputs":)" + tensor + "}", 200),
              is_hidden);
  EXPECT_THAT(
      said_by_an_echo("/v2/models/double", R"({"inputs":[{"name":"x","datatype":")", R"(","shape":[1]}],"outputs":)" + tensor + "}", 200),
      AllOf(HasSubstr("datatype 'Bearer [redacted]'"), is_hidden));
  EXPECT_THAT(said_by_an_echo("/v2/models/double/infer", R"({"outputs":[{"name":"y","shape":[1,3],"datatype":")", R"("}]})", 200),
              AllOf(HasSubstr("not one of KServe v2"), is_hidden));
}

TEST(KserveToken, DoesNotTravelUnencrypted) {
  const TemporaryFolder folder;
  std::ofstream(folder / "token") << "s3cret";
  std::ofstream(folder / "two") << "two words";
  std::ofstream(folder / "none") << "\n";
  KserveBackend backend;
  const auto said = [&](const std::string& host, const std::string& file) {
    return std::string(failure_of([&] {
                         backend.remote_model("double", request_by<ByHttp>(host, {{"token_file", folder / file}}));
                       }).what());
  };
  EXPECT_THAT(said("triton.example:8000", "token"), AllOf(HasSubstr("unencrypted"), HasSubstr("https://"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(said("127.0.0.1.example:8000", "token"), HasSubstr("unencrypted"));
  EXPECT_THAT(said("127.0.0.1:1", "two"), HasSubstr("a token is one word"));
  EXPECT_THAT(said("127.0.0.1:1", "none"), HasSubstr("is empty"));
  EXPECT_THAT(said("127.0.0.1:1", "absent"), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace deepgap
