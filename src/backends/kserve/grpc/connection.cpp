#include "backends/kserve/grpc/connection.h"

#include "backends/kserve/grpc/status_words.h"

#include <deepgap/error.h>

#include <absl/synchronization/mutex.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <climits>
#include <fstream>
#include <iterator>
#include <mutex>

namespace deepgap {
namespace {

constexpr int again_after_ms = 100;

void prepare_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function([](gpr_log_func_args*) {});  // its own lines on stderr say nothing that the request errors do not
    // Debian's build of the locks that gRPC uses searches for cycles among them, by a profile of its calls.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    grpc_init();  // never undone: the library would end its threads with the last connection and start them again with the next
  });
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || text.empty()) throw Error(ErrorKind::usage, fmt::format("kserve: the certificates in {} cannot be read", path));
  return text;
}

// The system's authorities are those that libcurl takes: one server is trusted or not whatever it is asked by.
std::shared_ptr<grpc::ChannelCredentials> credentials_for(const ServerAddress& address) {
  if (address.base.starts_with("grpc://")) return grpc::InsecureChannelCredentials();
  const char* system = curl_version_info(CURLVERSION_NOW)->cainfo;
  grpc::SslCredentialsOptions options;
  if (!address.ca_file.empty()) {
    options.pem_root_certs = text_of_file(address.ca_file);
  } else if (system != nullptr) {
    options.pem_root_certs = text_of_file(system);
  }
  return grpc::SslCredentials(options);
}

// gRPC's servers have no usual port, and no paths.
std::string target_of(const ServerAddress& address) {
  const std::string host = address.base.substr(address.base.find("://") + 3);
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && colon + 1 < host.size() && host.find(']', colon) == std::string::npos;
  if (!has_port || host.find('/') != std::string::npos)
    throw Error(ErrorKind::usage, fmt::format("kserve: invalid address '{}': expected grpc://host:port, without a path", address.base));
  return "dns:///" + host;
}

std::shared_ptr<grpc::Channel> make_channel(const ServerAddress& address, size_t answer_limit) {
  prepare_grpc();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, again_after_ms);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, again_after_ms);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, again_after_ms);
  arguments.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, INT_MAX);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(std::min<size_t>(answer_limit, INT_MAX)));
  arguments.SetMaxSendMessageSize(-1);  // the server says what it takes
  return grpc::CreateCustomChannel(target_of(address), credentials_for(address), arguments);
}

}  // namespace

std::string grpc_method(const char* name) { return fmt::format("/inference.GRPCInferenceService/{}", name); }

GrpcConnection::GrpcConnection(const ServerAddress& address, size_t answer_limit)
    : token_(address.token), answer_limit_(answer_limit), channel_(make_channel(address, answer_limit)), stub_(channel_) {}

void GrpcConnection::prepare(grpc::ClientContext& context, std::optional<Nanoseconds> timeout) const {
  if (!token_.empty()) context.AddMetadata("authorization", "Bearer " + token_);
  if (timeout) context.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds(*timeout));
}

std::optional<RequestError> GrpcConnection::ask(const char* method, const google::protobuf::MessageLite& question,
                                                google::protobuf::MessageLite& answer, Nanoseconds timeout) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  prepare(context, timeout);
  const auto call = stub_.PrepareUnaryCall(&context, grpc_method(method), serialized(question), &queue);
  call->StartCall();
  grpc::ByteBuffer bytes;
  grpc::Status status;
  call->Finish(&bytes, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  if (auto found = request_error(status, timeout)) return found;
  if (parse(bytes, answer)) return std::nullopt;
  return RequestError{RequestError::Kind::protocol, fmt::format("the answer to {} is not a KServe v2 message", method)};
}

std::optional<RequestError> GrpcConnection::request_error(const grpc::Status& status, Nanoseconds timeout) const {
  if (status.ok()) return std::nullopt;
  return fault_of_status(status.error_code(), redacted(status.error_message()), timeout, answer_limit_);
}

grpc::ByteBuffer serialized(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return {&slice, 1};
}

bool parse(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message) {
  grpc::Slice slice;
  if (!bytes.TrySingleSlice(&slice).ok() && !bytes.DumpToSingleSlice(&slice).ok()) return false;
  return slice.size() <= INT_MAX && message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
}

}  // namespace deepgap
