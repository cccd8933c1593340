// A Session on a server, over gRPC.
#include "backends/kserve/grpc/calls.h"
#include "backends/kserve/grpc/infer_answer.h"
#include "backends/kserve/grpc/infer_request.h"
#include "backends/kserve/grpc/protocol.h"
#include "backends/kserve/remote_session.h"

#include <utility>

namespace deepgap {
namespace {

class GrpcSession final : public RemoteSession {
 public:
  GrpcSession(const ServerAddress& address, const ServedModel& served, const KserveSettings& settings, const Model& model,
              const LoadOptions& options)
      : RemoteSession(settings, model, options),
        name_(served.name),
        request_(served.name, inputs(), outputs_of_model()),
        question_(address, most_statistics) {
    const auto count = static_cast<size_t>(slots());
    for (size_t i = 0; i < count; ++i) answers_.emplace_back(outputs_of_model());
    begin_counting(served);
    const auto ended = [this](size_t slot, const CallEnd& end) { take(slot, end); };
    const CallSettings calls{count, settings.channels, answer_limit(), settings.timeout, &clock()};
    calls_ = settings.stream ? make_stream_calls(address, calls, ended) : make_unary_calls(address, calls, ended);
  }
  ~GrpcSession() override { calls_.reset(); }

  void stage(std::span<const std::vector<TensorView>> samples) override { request_.stage(samples); }
  std::span<const TensorView> outputs(int slot) const override { return answers_[static_cast<size_t>(slot)].views(); }

 private:
  static constexpr size_t most_statistics = 16'000'000;

  void send(size_t slot, std::span<const uint32_t> samples) override {
    const uint64_t id = ++last_id_;
    const grpc::ByteBuffer request = request_.write(samples, settings().stream ? std::optional(id) : std::nullopt);
    calls_->begin(slot, request, id);
  }
  void give_up() override { calls_->give_up(); }

  std::optional<ServerStatistics> ask_for_statistics() override {
    inference::ModelStatisticsRequest question;
    question.set_name(name_.name);
    question.set_version(name_.version);
    inference::ModelStatisticsResponse statistics;
    if (question_.ask("ModelStatistics", question, statistics, settings().timeout)) return std::nullopt;
    ServerStatistics sum;
    for (const auto& version : statistics.model_stats()) add(version, sum);
    return sum;
  }

  static void add(const inference::ModelStatistics& version, ServerStatistics& sum) {
    const auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
    const inference::InferStatistics& stats = version.inference_stats();
    sum.inferences += number(version.inference_count());
    sum.runs += number(version.execution_count());
    sum.answered += number(stats.success().count());
    sum.failed += number(stats.fail().count());
    sum.queue_ns += number(stats.queue().ns());
    sum.input_ns += number(stats.compute_input().ns());
    sum.inference_ns += number(stats.compute_infer().ns());
    sum.output_ns += number(stats.compute_output().ns());
  }

  // This runs on the calls' thread.
  void take(size_t slot, const CallEnd& end) {
    std::optional<RequestError> request_error = end.request_error;
    if (!request_error) request_error = answers_[slot].read(end.answer, query(slot).batch);
    finish(slot, request_error, {.connections = end.connections, .sent = end.sent, .received = end.received}, end.sent_at);
  }

  const ModelName name_;
  InferRequest request_;
  std::vector<InferAnswer> answers_;  // a slot each
  GrpcConnection question_;
  uint64_t last_id_ = 0;
  std::unique_ptr<GrpcCalls> calls_;  // last: its thread delivers until it is gone
};

}  // namespace

std::unique_ptr<Session> make_grpc_session(const ServerAddress& address, const ServedModel& served, const KserveSettings& settings,
                                           const Model& model, const LoadOptions& options) {
  return std::make_unique<GrpcSession>(address, served, settings, model, options);
}

}  // namespace deepgap
