// GrpcCalls: requests of a Session in flight, many at a time, and the thread that takes their answers.
//
// begin() hands a request to the library on the thread that calls it, which sends it there and then where the connection is open. Two
// kinds: a call for each request, or a message on a stream that each slot keeps.
#pragma once

#include "backends/kserve/grpc/connection.h"

#include <deepgap/clock.h>

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/byte_buffer.h>
#include <kserve.pb.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

namespace deepgap {

// The end of a request. `answer` is its slot's own and stays until the slot begins again.
struct CallEnd {
  std::optional<RequestError> request_error;    // cancelled: given up
  const inference::ModelInferResponse& answer;  // where there is no request error
  int64_t connections = 0;                      // that were opened for it
  int64_t sent = 0, received = 0;               // bytes of messages, with the five before each
  Nanoseconds sent_at = 0;                      // when the library had it
};

class GrpcCalls {
 public:
  using Ended = std::function<void(size_t slot, const CallEnd& end)>;
  virtual ~GrpcCalls() = default;  // gives up what is in flight, without a word

  // Begins the request of a slot that is not in flight. `id` is in the request.
  virtual void begin(size_t slot, const grpc::ByteBuffer& request, uint64_t id) = 0;
  // Gives up all that is in flight; `ended` is called for each as it ends.
  virtual void give_up() = 0;
};

struct CallSettings {
  size_t slots = 1;
  int connections = 1;  // that the slots share
  size_t answer_limit = 0;
  Nanoseconds timeout = 0;
  const Clock* clock = nullptr;  // clock for sent_at
};
std::unique_ptr<GrpcCalls> make_unary_calls(const ServerAddress& address, const CallSettings& settings, GrpcCalls::Ended ended);
std::unique_ptr<GrpcCalls> make_stream_calls(const ServerAddress& address, const CallSettings& settings, GrpcCalls::Ended ended);

// A connection and whether it was lost since it was last answered on.
class CountedConnection {
 public:
  CountedConnection(const ServerAddress& address, size_t answer_limit) : connection_(address, answer_limit) {}
  GrpcConnection& operator*() { return connection_; }
  GrpcConnection* operator->() { return &connection_; }
  void note_begin() {
    if (connection_.channel().GetState(false) != GRPC_CHANNEL_READY) opening_ = true;
  }
  void note_error(const RequestError& request_error) {
    if (request_error.kind == RequestError::Kind::reset || request_error.kind == RequestError::Kind::refused) opening_ = true;
  }
  int64_t note_answer() { return opening_.load(std::memory_order_relaxed) && opening_.exchange(false) ? 1 : 0; }

 private:
  GrpcConnection connection_;
  std::atomic<bool> opening_ = true;
};
std::deque<CountedConnection> make_connections(const ServerAddress& address, const CallSettings& settings);

// The data that both kinds keep about a slot's request, and about what came back for it.
struct Exchanged {
  grpc::ByteBuffer answer;
  int64_t sent = 0;  // as CallEnd has it
  Nanoseconds sent_at = 0;

  void note_request(const grpc::ByteBuffer& request);
};
// Describes a request that is over, and notes its end in its connection.
CallEnd end_of(const Exchanged& exchanged, const std::optional<RequestError>& request_error, const inference::ModelInferResponse& answer,
               CountedConnection& connection);
// Returns the request error of an answer that cannot be read.
RequestError no_message_fault();

}  // namespace deepgap
