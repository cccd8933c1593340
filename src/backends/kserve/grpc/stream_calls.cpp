// A message on a stream of ModelStreamInfer for each request. A slot has a stream of its own, opened when it is needed and kept, so that
// answers need not come in the order of requests; a request that fails by its stream's end takes no other with it.
#include "backends/kserve/grpc/calls.h"
#include "backends/kserve/grpc/status_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

// Servers disagree on what comes on a stream: Triton's message holds an error or the answer, the Open Inference Protocol's is the answer
// itself, as MLServer sends it. Triton's has no outputs beside those of the answer that it holds.
bool parse_streamed(const grpc::ByteBuffer& bytes, inference::ModelStreamInferResponse& message) {
  const bool held = parse(bytes, message);
  if (held && message.infer_response().outputs_size() > 0) return true;
  inference::ModelInferResponse answer;
  if (!parse(bytes, answer) || answer.outputs_size() == 0) return held;
  message.clear_error_message();
  message.mutable_infer_response()->Swap(&answer);
  return true;
}

class StreamCalls final : public GrpcCalls {
 public:
  StreamCalls(const ServerAddress& address, const CallSettings& settings, Ended ended)
      : settings_(settings), ended_(std::move(ended)), connections_(make_connections(address, settings)), streams_(settings.slots) {
    thread_ = std::jthread([this] { serve(); });
  }
  ~StreamCalls() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      for (Stream& stream : streams_)
        if (stream.context) stream.context->TryCancel();
      queue_.Shutdown();
    }
    thread_.join();
  }

  void begin(size_t slot, const grpc::ByteBuffer& request, uint64_t id) override {
    Stream& stream = streams_[slot];
    CountedConnection& connection = connections_[slot % connections_.size()];
    stream.given_up = stream.broken = false;
    stream.request_error.reset();
    stream.id = id;
    stream.exchanged.note_request(request);
    stream.awaited = 2;
    if (!stream.call) open(stream, connection);
    stream.until = monotonic_now() + settings_.timeout;
    stream.exchanged.sent_at = settings_.clock->now();
    stream.call->Write(request, tag_of(slot, Event::written));
    stream.call->Read(&stream.exchanged.answer, tag_of(slot, Event::read));
  }

  void give_up() override {
    const std::lock_guard lock(mutex_);
    for (Stream& stream : streams_) {
      if (stream.until == 0) continue;
      stream.given_up = true;
      if (stream.context) stream.context->TryCancel();
    }
  }

 private:
  enum class Event : size_t { written, read, finished };
  struct Stream {
    std::optional<grpc::ClientContext> context;  // taken away under mutex_, by the thread alone
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call;
    Exchanged exchanged;
    grpc::Status status;
    inference::ModelStreamInferResponse answer;
    uint64_t id = 0;
    std::atomic<Nanoseconds> until = 0;  // when the request has taken too long; 0: none is in flight
    std::atomic<int> awaited = 0;        // writing and reading that have not ended
    std::atomic<bool> broken = false;    // one of them failed
    std::atomic<bool> given_up = false;
    std::optional<RequestError> request_error;  // that ended it
    bool answered = false;                      // an earlier request on it
  };

  static Nanoseconds monotonic_now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  static void* tag_of(size_t slot, Event event) { return reinterpret_cast<void*>(slot * 4 + static_cast<size_t>(event)); }

  void open(Stream& stream, CountedConnection& connection) {
    connection.note_begin();
    stream.context.emplace();
    connection->prepare(*stream.context, std::nullopt);
    stream.context->set_initial_metadata_corked(true);  // sent with the first message
    stream.call = connection->stub().PrepareCall(&*stream.context, method_, &queue_);
    stream.call->StartCall(nullptr);
    stream.answered = false;
  }

  void serve() {
    const auto rest = std::chrono::nanoseconds(std::clamp<Nanoseconds>(settings_.timeout / 20, 1'000'000, 100'000'000));
    auto next_look = std::chrono::system_clock::now() + rest;
    for (;;) {
      void* tag = nullptr;
      bool ok = false;
      const auto got = queue_.AsyncNext(&tag, &ok, next_look);
      if (got == grpc::CompletionQueue::SHUTDOWN) return;
      if (got == grpc::CompletionQueue::GOT_EVENT) note(reinterpret_cast<size_t>(tag), ok);
      if (const auto now = std::chrono::system_clock::now(); now >= next_look) {
        next_look = now + rest;
        end_late_ones();
      }
    }
  }

  // A deadline of gRPC's is a whole stream's.
  void end_late_ones() {
    const Nanoseconds now = monotonic_now();
    for (Stream& stream : streams_) {
      if (stream.until == 0 || stream.until > now || stream.request_error) continue;
      stream.request_error = late_error(settings_.timeout);
      stream.context->TryCancel();
    }
  }

  void note(size_t tag, bool ok) {
    const size_t slot = tag / 4;
    Stream& stream = streams_[slot];
    if (static_cast<Event>(tag % 4) == Event::finished) return finish(slot);
    if (!ok) stream.broken = true;
    if (--stream.awaited > 0) return;
    if (stream.broken || !takes_answer(stream)) return ask_why(slot);
    if (!parse_streamed(stream.exchanged.answer, stream.answer)) {
      stream.request_error = no_message_fault();
    } else if (!is_answer_to(stream)) {
      stream.request_error = RequestError{RequestError::Kind::answer, "an answer to another request"};
    } else {
      stream.answered = true;
      return deliver(slot, failure_told(slot));
    }
    stream.context->TryCancel();  // what else comes on it is nobody's
    ask_why(slot);
  }

  // From here on nobody gives the request up. False: somebody has, and with it the stream is cancelled, which the slot's next request must
  // not go out on.
  bool takes_answer(Stream& stream) {
    const std::lock_guard lock(mutex_);
    if (stream.request_error || stream.given_up) return false;
    stream.until = 0;
    return true;
  }
  static bool is_answer_to(const Stream& stream) {
    const std::string& id = stream.answer.infer_response().id();
    return id.empty() || id == std::to_string(stream.id);
  }
  std::optional<RequestError> failure_told(size_t slot) {
    const std::string& words = streams_[slot].answer.error_message();
    if (words.empty()) return std::nullopt;
    const GrpcConnection& connection = *connections_[slot % connections_.size()];
    return RequestError{RequestError::Kind::status, fmt::format("answered an error: {}", short_words(connection.redacted(words), ""))};
  }

  void ask_why(size_t slot) {
    const std::lock_guard lock(mutex_);
    if (!stopping_) streams_[slot].call->Finish(&streams_[slot].status, tag_of(slot, Event::finished));
  }

  void finish(size_t slot) {
    Stream& stream = streams_[slot];
    const RequestError request_error = why_it_ended(slot);
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      stream.call.reset();
      stream.context.reset();
    }
    deliver(slot, request_error);
  }

  RequestError why_it_ended(size_t slot) {
    const Stream& stream = streams_[slot];
    if (stream.request_error) return *stream.request_error;
    if (stream.given_up) return {RequestError::Kind::cancelled, "given up"};
    if (auto error = connections_[slot % connections_.size()]->request_error(stream.status, settings_.timeout)) return *error;
    const std::string words = "the server ended the stream before an answer";
    return {RequestError::Kind::reset,
            stream.answered ? words + ", after an earlier one: if it takes one request a stream, leave out stream=on" : words};
  }

  void deliver(size_t slot, const std::optional<RequestError>& request_error) {
    Stream& stream = streams_[slot];
    CountedConnection& connection = connections_[slot % connections_.size()];
    const CallEnd end = end_of(stream.exchanged, request_error, stream.answer.infer_response(), connection);
    stream.exchanged.answer.Clear();
    stream.until = 0;
    ended_(slot, end);
  }

  const std::string method_ = grpc_method("ModelStreamInfer");
  const CallSettings settings_;
  const Ended ended_;
  grpc::CompletionQueue queue_;
  std::deque<CountedConnection> connections_;
  std::vector<Stream> streams_;
  std::mutex mutex_;       // guards what ends a stream
  bool stopping_ = false;  // under mutex_
  std::jthread thread_;    // last
};

}  // namespace

std::unique_ptr<GrpcCalls> make_stream_calls(const ServerAddress& address, const CallSettings& settings, GrpcCalls::Ended ended) {
  return std::make_unique<StreamCalls>(address, settings, std::move(ended));
}

}  // namespace deepgap
