// Things that are not servers, or not the right ones, and what is not sent to them: over gRPC.
#include "backends/http/scripted_server.h"
#include "backends/kserve/grpc/by_grpc.h"
#include "base/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace deepgap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Code = grpc::StatusCode;

std::string said_of(const std::string& method, const ScriptedAnswer& answer) {
  return refusal<ByGrpc>(instead_of<ByGrpc>(method, answer)).what();
}

TEST(GrpcRefusal, AServerOfHttp) {
  for (const int status : {200, 400}) {
    ScriptedServer server{[&](const ScriptedRequest&) { return ScriptedReply{.status = status, .end = ScriptedReply::End::close}; }};
    KserveBackend backend;
    EXPECT_THAT(failure_of([&] { backend.remote_model("double", request_by<ByGrpc>(server.host())); }).what(),
                HasSubstr("does not speak HTTP/2; gRPC has a port of its own"));
  }
}

TEST(GrpcRefusal, AnotherServiceOfGrpc) {
  ScriptedGrpcModel none;
  none.instead = [](const ScriptedCall&) { return ScriptedAnswer{.status = {Code::UNIMPLEMENTED, "unknown service"}}; };
  EXPECT_THAT(refusal<ByGrpc>(none).what(), HasSubstr("speaks gRPC, but not KServe v2"));
  EXPECT_THAT(said_of("ServerMetadata", {.status = {Code::UNAUTHENTICATED, "who are you"}}), HasSubstr("token_file"));
  EXPECT_THAT(said_of("ServerMetadata", {}), HasSubstr("its metadata has no name"));
  EXPECT_THAT(said_of("ServerMetadata", {.message = "\x0f\xff"}), HasSubstr("is not a KServe v2 message"));
}

TEST(GrpcRefusal, MetadataThatAreNone) {
  inference::ModelMetadataResponse metadata;
  EXPECT_THAT(said_of("ModelMetadata", ScriptedGrpcModel::of(metadata)), HasSubstr("does not report the inputs"));
  metadata = ScriptedGrpcModel().metadata();
  metadata.mutable_inputs(0)->set_datatype("BYTES");
  EXPECT_THAT(said_of("ModelMetadata", ScriptedGrpcModel::of(metadata)), HasSubstr("datatype 'BYTES' cannot be measured"));
  metadata = ScriptedGrpcModel().metadata();
  metadata.mutable_inputs(0)->set_shape(0, -2);
  EXPECT_THAT(said_of("ModelMetadata", ScriptedGrpcModel::of(metadata)), HasSubstr("an invalid size"));
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
    const Error error = failure_of([&] { backend.remote_model("double", request_by<ByGrpc>(host)); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << host;
    EXPECT_THAT(error.what(), HasSubstr("grpc://host:port")) << host;
  }
  EXPECT_THAT(failure_of([&] {
                backend.remote_model("double", request_by<ByGrpc>("127.0.0.1:1", {{"tensors", "json"}}));
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
    backend.remote_model("double", request_by<ByGrpc>("triton.example:8001", {{"token_file", folder / "token"}}));
  });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("unencrypted"), HasSubstr("grpcs://"), Not(HasSubstr("s3cret"))));
}

}  // namespace
}  // namespace deepgap
