#include "backends/kserve/grpc/calls.h"

namespace deepgap {
namespace {

constexpr int64_t bytes_before_message = 5;

int64_t bytes_of(const grpc::ByteBuffer& message) { return static_cast<int64_t>(message.Length()) + bytes_before_message; }

}  // namespace

std::deque<CountedConnection> make_connections(const ServerAddress& address, const CallSettings& settings) {
  std::deque<CountedConnection> connections;
  for (int i = 0; i < settings.connections; ++i) connections.emplace_back(address, settings.answer_limit);
  return connections;
}

void Exchanged::note_request(const grpc::ByteBuffer& request) { sent = bytes_of(request); }

CallEnd end_of(const Exchanged& exchanged, const std::optional<RequestError>& request_error, const inference::ModelInferResponse& answer,
               CountedConnection& connection) {
  CallEnd end{request_error, answer};
  if (request_error) {
    connection.note_error(*request_error);
  } else {
    end.connections = connection.note_answer();
  }
  end.sent = exchanged.sent;
  end.received = exchanged.answer.Valid() ? bytes_of(exchanged.answer) : 0;
  end.sent_at = exchanged.sent_at;
  return end;
}

RequestError no_message_fault() { return {RequestError::Kind::protocol, "not an answer by gRPC: no message of KServe v2"}; }

}  // namespace deepgap
