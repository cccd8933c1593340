// gRPC's library, as this plug-in uses it: calls to the server that the user named and nowhere else. No proxy of the environment is used,
// no service configuration is taken from DNS, certificates and names are verified, nothing is retried.
#pragma once

#include "backends/http/redaction.h"
#include "backends/http/request_error.h"
#include "backends/kserve/settings.h"

#include <google/protobuf/message_lite.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace deepgap {

// "/inference.GRPCInferenceService/ModelInfer".
std::string grpc_method(const char* name);

// One connection to a server, with as many calls at a time as the server takes; opened with the first of them, and again after it was lost:
// 0.1 s later at the earliest, until then calls fail with the reason. Any thread.
class GrpcConnection {
 public:
  // `answer_limit`: bytes of an answer. Throws Error{usage} for an address that gRPC cannot use, or a ca_file that cannot be read.
  GrpcConnection(const ServerAddress& address, size_t answer_limit);

  grpc::GenericStub& stub() { return stub_; }
  grpc::Channel& channel() { return *channel_; }
  // Gives a call the token, and a deadline where there is to be one.
  void prepare(grpc::ClientContext& context, std::optional<Nanoseconds> timeout) const;
  // One question, waited for. `method`: "ServerMetadata".
  std::optional<RequestError> ask(const char* method, const google::protobuf::MessageLite& question, google::protobuf::MessageLite& answer,
                                  Nanoseconds timeout);
  // Returns the server's words without the token that it was sent.
  std::string redacted(std::string_view text) const { return without_token(text, token_); }
  // Translates the end of a call; nullopt: it was answered.
  std::optional<RequestError> request_error(const grpc::Status& status, Nanoseconds timeout) const;

 private:
  std::string token_;  // empty: there is none
  size_t answer_limit_;
  std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
};

grpc::ByteBuffer serialized(const google::protobuf::MessageLite& message);
// Parses into memory that lies in one piece. False: it is not such a message.
bool parse(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message);

}  // namespace deepgap
