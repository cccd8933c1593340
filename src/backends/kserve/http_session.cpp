#include "backends/kserve/http_session.h"

#include "backends/http/http_connections.h"
#include "backends/kserve/answer.h"
#include "backends/kserve/remote_session.h"
#include "backends/kserve/request_body.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {
namespace {

class HttpSession final : public RemoteSession {
 public:
  HttpSession(const ServerAddress& address, const ServedModel& served, const KserveSettings& settings, const Model& model,
              const LoadOptions& options)
      : RemoteSession(settings, model, options),
        address_(address),
        path_(model_path(served.name)),
        infer_path_(path_ + "/infer"),
        body_(inputs(), outputs_of_model(), served.binary, options.samples_change),
        question_(address_, most_statistics) {
    for (int i = 0; i < RemoteSession::slots(); ++i) {
      slots_.emplace_back(outputs_of_model());
      requests_.push_back(std::make_unique<HttpRequest>(address_, answer_limit(), &clock()));
    }
    begin_counting(served);
    connections_.emplace(requests_, [this](size_t slot, const std::optional<RequestError>& request_error) { end(slot, request_error); });
    clock().attend(connections_->descriptor(), [this] { connections_->take(); });
  }
  ~HttpSession() override { clock().release(connections_->descriptor()); }

  void stage(std::span<const std::vector<TensorView>> samples) override { body_.stage(samples); }
  std::span<const TensorView> outputs(int slot) const override { return slots_[static_cast<size_t>(slot)].answer.views(); }

 private:
  static constexpr size_t most_statistics = 16'000'000;
  struct Slot {
    explicit Slot(const std::vector<Port>& outputs) : answer(outputs) {}
    std::string body;  // body of the request
    ServerAnswer answer;
  };

  void send(size_t slot, std::span<const uint32_t> samples) override {
    std::string& body = slots_[slot].body;
    const auto json_bytes = body_.write(samples, body);
    requests_[slot]->post(infer_path_, body, json_bytes, settings().timeout);
    connections_->begin(slot);
  }

  void await_answers() override { connections_->wait(); }

  void give_up() override {
    const RequestError cancelled{RequestError::Kind::cancelled, "given up"};
    for (const size_t slot : connections_->abandon()) finish(slot, cancelled, {}, 0);
  }

  std::optional<ServerStatistics> ask_for_statistics() override {
    question_.get(path_ + "/stats", settings().timeout);
    return question_.perform() ? std::nullopt : read_statistics(question_.body().json());
  }

  void end(size_t slot, std::optional<RequestError> request_error) {
    const HttpRequest& request = *requests_[slot];
    const AnswerBody& body = request.body();
    if (!request_error) request_error = slots_[slot].answer.read(body.json(), body.tensors(), body.has_tensors(), query(slot).batch);
    const HttpRequest::Traffic traffic = request.traffic();
    finish(slot, request_error,
           {.connections = traffic.connections,
            .sent = traffic.sent,
            .received = traffic.received,
            .header_bytes = traffic.sent_headers + traffic.received_headers},
           request.sent_at());
  }

  const ServerAddress address_;
  const std::string path_, infer_path_;
  RequestBody body_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<HttpRequest>> requests_;  // beside them
  HttpRequest question_;
  std::optional<HttpConnections> connections_;  // last: it uses the requests until it is gone
};

}  // namespace

std::unique_ptr<Session> make_http_session(const ServerAddress& address, const ServedModel& served, const KserveSettings& settings,
                                           const Model& model, const LoadOptions& options) {
  return std::make_unique<HttpSession>(address, served, settings, model, options);
}

}  // namespace deepgap
