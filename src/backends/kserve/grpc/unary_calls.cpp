// A call of ModelInfer for each request.
#include "backends/kserve/grpc/calls.h"

#include <string>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

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
    call.exchanged.note_request(request);
    call.exchanged.answer.Clear();
    call.reader.reset();
    call.context.emplace();
    connection->prepare(*call.context, settings_.timeout);
    connection.note_begin();
    call.reader = connection->stub().PrepareUnaryCall(&*call.context, method_, request, &queue_);
    call.in_flight = true;
    call.exchanged.sent_at = settings_.clock->now();
    call.reader->StartCall();
    call.reader->Finish(&call.exchanged.answer, &call.status, reinterpret_cast<void*>(slot));
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
    Exchanged exchanged;
    grpc::Status status;
    inference::ModelInferResponse answer;
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
    std::optional<RequestError> request_error = connection->request_error(call.status, settings_.timeout);
    if (request_error && call.given_up) request_error = RequestError{RequestError::Kind::cancelled, "given up"};
    if (!request_error && !parse(call.exchanged.answer, call.answer)) request_error = no_message_fault();
    const CallEnd end = end_of(call.exchanged, request_error, call.answer, connection);
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
