#include "backends/kserve/http_session.h"

#include "backends/kserve/answer.h"
#include "backends/kserve/http_connections.h"
#include "backends/kserve/metrics.h"
#include "backends/kserve/request_body.h"
#include "backends/kserve/statistics.h"
#include "backends/kserve/tally.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

// Bytes that an answer may have: what the outputs take, as text if need be, and something for what stands round them.
size_t answer_limit(const std::vector<Port>& outputs, int64_t batch) {
  constexpr size_t around = 1'000'000, characters = 32, of_unknown_shape = 1'000'000'000;
  size_t limit = around;
  for (const Port& output : outputs) {
    const auto shape = output.shape(batch);
    if (!shape) return of_unknown_shape;
    limit += characters * static_cast<size_t>(element_count(*shape));
  }
  return limit;
}

class HttpSession final : public Session {
 public:
  HttpSession(const ServerAddress& address, const ServedModel& served, const KserveSettings& settings, const Model& model,
              const LoadOptions& options)
      : address_(address),
        settings_(settings),
        path_(model_path(served.name)),
        clock_(*options.clock),
        completion_(options.completion),
        outputs_(ports(model.graph(), model.graph().outputs)),
        body_(ports(model.graph(), model.graph().inputs), outputs_, served.binary, options.samples_change),
        question_(address_, most_statistics),
        metrics_address_{settings.metrics, "", settings.ca_file} {
    const int64_t largest = *std::max_element(options.batch_sizes.begin(), options.batch_sizes.end());
    const auto count = static_cast<size_t>(std::max(options.slots, settings.connections));
    for (size_t i = 0; i < count; ++i) {
      slots_.emplace_back(outputs_);
      requests_.push_back(std::make_unique<HttpRequest>(address_, answer_limit(outputs_, largest), &clock_));
    }
    if (served.has_statistics) statistics_ = ask_for_statistics();
    if (!settings.metrics.empty()) gpus_ = ask_for_metrics();
    connections_.emplace(requests_, [this](size_t slot, const std::optional<Fault>& fault) { finish(slot, fault); });
  }
  ~HttpSession() override { connections_.reset(); }

  int slots() const override { return static_cast<int>(slots_.size()); }
  bool outlives_failures() const override { return true; }
  void stage(std::span<const std::vector<TensorView>> inputs) override { body_.stage(inputs); }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    const auto at = static_cast<size_t>(index);
    Slot& slot = slots_[at];
    slot.tag = tag;
    slot.batch = static_cast<int64_t>(samples.size());
    slot.enqueued = clock_.now();
    {
      const std::lock_guard lock(mutex_);
      ++in_flight_;
    }
    try {
      const auto json_bytes = body_.write(samples, slot.body);
      requests_[at]->post(path_ + "/infer", slot.body, json_bytes, settings_.timeout);
    } catch (const Error& error) {
      return deliver({.tag = tag, .status = Status::failed, .marks = {}, .error = &error});
    }
    connections_->begin(at);
  }

  std::span<const TensorView> outputs(int slot) const override { return slots_[static_cast<size_t>(slot)].answer.views(); }

  void drain() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return in_flight_ == 0; });
  }

  void cancel() override {
    for (const size_t slot : connections_->abandon()) deliver({.tag = slots_[slot].tag, .status = Status::cancelled, .marks = {}});
    drain();
  }

  std::map<std::string, double> take_counts() override {
    std::map<std::string, double> counts = tally_.take();
    if (const auto now = statistics_ ? ask_for_statistics() : std::nullopt) {
      counts.merge(between(*statistics_, *now));
      statistics_ = now;
    }
    if (settings_.metrics.empty()) return counts;
    const ServerGpus gpus = ask_for_metrics();
    counts.merge(between(gpus_, gpus));
    gpus_ = gpus;
    return counts;
  }

 private:
  static constexpr size_t most_statistics = 16'000'000;
  struct Slot {
    explicit Slot(const std::vector<Port>& outputs) : answer(outputs) {}
    uint64_t tag = 0;
    int64_t batch = 0;
    Nanoseconds enqueued = 0;
    std::string body;  // of the request
    ServerAnswer answer;
  };

  // On the connections' thread.
  void finish(size_t index, std::optional<Fault> fault) {
    Slot& slot = slots_[index];
    const HttpRequest& request = *requests_[index];
    const AnswerBody& body = request.body();
    if (!fault) fault = slot.answer.read(body.json(), body.tensors(), body.has_tensors(), slot.batch);
    note(request, slot, fault.has_value());
    if (!fault) return deliver({.tag = slot.tag, .status = Status::ok, .marks = {}});
    const Error error(ErrorKind::internal, fault->what);
    deliver({.tag = slot.tag, .status = Status::failed, .marks = {}, .error = &error});
  }

  void note(const HttpRequest& request, const Slot& slot, bool failed) {
    const HttpRequest::Traffic traffic = request.traffic();
    const Nanoseconds sent_at = request.sent_at();
    tally_.add({traffic.connections, traffic.sent, traffic.received, traffic.sent_headers + traffic.received_headers,
                sent_at == 0 ? -1 : sent_at - slot.enqueued, failed});
  }

  void deliver(const Done& done) {
    completion_(std::span(&done, 1));
    const std::lock_guard lock(mutex_);
    if (--in_flight_ == 0) idle_.notify_all();
  }

  std::optional<ServerStatistics> ask_for_statistics() {
    question_.get(path_ + "/stats", settings_.timeout);
    return question_.perform() ? std::nullopt : read_statistics(question_.body().json());
  }

  // Throws Error{refused}: it was asked for.
  ServerGpus ask_for_metrics() {
    HttpRequest request(metrics_address_, most_statistics);
    request.get("", settings_.timeout);
    if (const auto fault = request.perform())
      throw Error(ErrorKind::refused, fmt::format("the metrics at {}: {}", settings_.metrics, fault->what));
    return read_gpu_metrics(request.body().json());
  }

  const ServerAddress address_;
  const KserveSettings settings_;
  const std::string path_;
  Clock& clock_;
  Completion completion_;
  const std::vector<Port> outputs_;
  RequestBody body_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<HttpRequest>> requests_;  // beside them
  HttpRequest question_;
  std::optional<ServerStatistics> statistics_;  // when they were last taken
  const ServerAddress metrics_address_;         // without the token: another port may be another service
  ServerGpus gpus_;                             // when they were last read
  Tally tally_;
  std::mutex mutex_;
  std::condition_variable idle_;
  int in_flight_ = 0;                           // under mutex_
  std::optional<HttpConnections> connections_;  // last: its thread delivers until it is gone
};

}  // namespace

std::unique_ptr<Session> make_http_session(const ServerAddress& address, const ServedModel& served, const KserveSettings& settings,
                                           const Model& model, const LoadOptions& options) {
  return std::make_unique<HttpSession>(address, served, settings, model, options);
}

}  // namespace deepgap
