// A call of ModelInfer for each request.
#include "backends/kserve/grpc/calls.h"

#include <string>
#include <utility>
#include <vector>

namespace deepgap {

std::deque<CountedConnection> make_connections(const ServerAddress& address, const CallSettings& settings) {
  std::deque<CountedConnection> connections;
  for (int i = 0; i < settings.connections; ++i) connections.emplace_back(address, settings.answer_limit);
  return connections;
}

namespace {

constexpr int64_t bytes_before_message = 5;

class UnaryCalls final : public GrpcCalls {
 public:
  UnaryCalls(const ServerAddress& address, const CallSettings& settings, Ended ended)
      : settings_(settings), ended_(std::move(ended)), connections_(make_connections(address, settings)), calls_(settings.slots) {
    thread_ = std::jthread([this] { serve(); });
  }
  ~UnaryCalls() override {
    stopping_ = true;
    give_up();
    queue_.Shutdown();
    thread_.join();
  }

  void begin(size_t slot, const grpc::ByteBuffer& request, uint64_t) override {
    Call& call = calls_[slot];
    CountedConnection& connection = connections_[slot % connections_.size()];
    call.given_up = false;
    call.sent = static_cast<int64_t>(request.Length()) + bytes_before_message;
    call.bytes.Clear();
    call.reader.reset();
    call.context.emplace();
    connection->prepare(*call.context, settings_.timeout);
    connection.note_begin();
    call.reader = connection->stub().PrepareUnaryCall(&*call.context, method_, request, &queue_);
    call.in_flight = true;
    call.sent_at = settings_.clock->now();
    call.reader->StartCall();
    call.reader->Finish(&call.bytes, &call.status, reinterpret_cast<void*>(slot));
  }

  void give_up() override {
    for (Call& call : calls_) {
      if (!call.in_flight) continue;
      call.given_up = true;
      call.context->TryCancel();
    }
  }

 private:
  struct Call {
    std::optional<grpc::ClientContext> context;  // since the slot last began
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
    grpc::ByteBuffer bytes;
    grpc::Status status;
    inference::ModelInferResponse answer;
    int64_t sent = 0;
    Nanoseconds sent_at = 0;
    std::atomic<bool> in_flight = false, given_up = false;
  };

  void serve() {
    void* tag = nullptr;
    bool ok = false;  // always, of the ends of calls
    while (queue_.Next(&tag, &ok))
      if (!stopping_) end(reinterpret_cast<size_t>(tag));
  }

  void end(size_t slot) {
    Call& call = calls_[slot];
    CountedConnection& connection = connections_[slot % connections_.size()];
    CallEnd end{connection->fault(call.status, settings_.timeout), call.answer};
    if (end.fault && call.given_up) end.fault = Fault{Fault::Kind::cancelled, "given up"};
    if (!end.fault && !parse(call.bytes, call.answer))
      end.fault = Fault{Fault::Kind::protocol, "not an answer by gRPC: no message of KServe v2"};
    if (end.fault) {
      connection.note_fault(*end.fault);
    } else {
      end.connections = connection.note_answer();
    }
    end.sent = call.sent;
    end.received = call.bytes.Valid() ? static_cast<int64_t>(call.bytes.Length()) + bytes_before_message : 0;
    end.sent_at = call.sent_at;
    call.in_flight = false;
    ended_(slot, end);
  }

  const std::string method_ = grpc_method("ModelInfer");
  const CallSettings settings_;
  const Ended ended_;
  grpc::CompletionQueue queue_;
  std::deque<CountedConnection> connections_;
  std::vector<Call> calls_;
  std::atomic<bool> stopping_ = false;
  std::jthread thread_;  // last
};

}  // namespace

std::unique_ptr<GrpcCalls> make_unary_calls(const ServerAddress& address, const CallSettings& settings, GrpcCalls::Ended ended) {
  return std::make_unique<UnaryCalls>(address, settings, std::move(ended));
}

}  // namespace deepgap
