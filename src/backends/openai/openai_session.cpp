#include "backends/openai/openai_session.h"

#include "backends/http/http.h"
#include "backends/http/http_connections.h"
#include "backends/http/metrics.h"
#include "backends/http/tally.h"
#include "backends/openai/request.h"
#include "backends/openai/token_answer.h"
#include "base/common_words.h"
#include "base/dump_json.h"
#include "base/parse_json.h"

#include <deepgap/error.h>
#include <deepgap/series_source.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

using json = nlohmann::json;

constexpr size_t most_answer = 64'000'000;
constexpr size_t texts_to_count = 16;  // answers that /tokenize counts, of each window

// An answer to be counted once more, by the server's tokenizer.
struct CountedText {
  std::string text;
  int64_t counted = 0;
};

// Sums over requests, of llama.cpp's own times.
struct ServerTimes {
  int64_t requests = 0;
  double prompt_ms = 0, predicted_ms = 0;
  double intervals = 0;  // between tokens: the first one comes with the end of the prompt
};

class OpenaiSession final : public Session, public SeriesSource {
 public:
  OpenaiSession(const ServerAddress& address, const ServedGenerator& served, const OpenaiSettings& settings, const LoadOptions& options)
      : address_(address),
        served_(served),
        settings_(settings),
        clock_(*options.clock),
        completion_(options.completion),
        unique_seed_(options.generate.unique_seed),
        question_(address_, most_answer) {
    const auto slots = static_cast<size_t>(std::max(options.slots, settings.connections));
    slots_.resize(slots);
    for (size_t i = 0; i < slots; ++i) {
      requests_.push_back(std::make_unique<HttpRequest>(address_, most_answer, &clock_));
      requests_[i]->stream("text/event-stream", [this, i](std::string_view piece) { return slots_[i].answer.take(piece, clock_.now()); });
    }
    connections_.emplace(requests_, [this](size_t slot, const std::optional<RequestError>& request_error) { end(slot, request_error); });
    clock_.attend(connections_->descriptor(), [this] { connections_->take(); });
    // The token is left out: another port may be another service.
    if (!settings.metrics.empty())
      metrics_.emplace(ServerAddress{settings.metrics, "", settings.ca_file}, settings.timeout, clock_, served.model);
  }
  ~OpenaiSession() override { clock_.release(connections_->descriptor()); }

  int slots() const override { return static_cast<int>(slots_.size()); }
  bool outlives_failures() const override { return true; }
  std::span<const TensorView> outputs(int) const override { return {}; }

  // The first prompts of each endpoint show whether the server streams there.
  void stage(std::span<const std::vector<TensorView>> samples) override {
    bodies_.clear();
    for (const auto& sample : samples) {
      bodies_.push_back(prompt_body(sample, served_.model, settings_));
      const bool is_chat = bodies_.back().is_chat;
      if (probes_.contains(is_chat)) continue;
      const StreamCheck probe = check_stream(address_, served_.model, is_chat, settings_);
      probes_.emplace(is_chat, probe);
      if (!probe.keeps_connections)
        for (const auto& request : requests_) request->forbid_reuse();
      if (probe.takes_vendor_fields == settings_.vendor_fields) continue;
      settings_.vendor_fields = settings_.ignore_end = false;
      bodies_.back() = prompt_body(sample, served_.model, settings_);
    }
  }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    const auto at = static_cast<size_t>(index);
    Slot& slot = slots_[at];
    const PromptBody& prompt = bodies_[samples.front()];
    slot.tag = tag;
    slot.output_limit = prompt.output_limit;
    slot.enqueued = clock_.now();
    slot.answer.begin(prompt.output_limit);
    slot.body = prompt.head;
    if (prompt.is_unique) slot.body += unique_text(unique_seed_, next_number_++);
    slot.body += prompt.tail;
    ++in_flight_;
    requests_[at]->post(endpoint_path(prompt.is_chat), slot.body, std::nullopt, settings_.timeout);
    connections_->begin(at);
  }

  void drain() override {
    while (in_flight_ > 0) connections_->wait();
  }
  void cancel() override {
    for (const size_t slot : connections_->abandon()) deliver({.tag = slots_[slot].tag, .status = Status::cancelled});
    drain();
  }

  std::map<std::string, double> take_counts() override {
    std::map<std::string, double> counts = tally_.take();
    take_server_times(counts);
    if (truncated_ > 0) counts["truncated"] = static_cast<double>(std::exchange(truncated_, 0));
    for (const auto& [is_chat, probe] : probes_)
      if (is_chat) counts["template_tokens"] = static_cast<double>(probe.template_tokens);
    if (settings_.tokenize) count_texts(counts);
    texts_.clear();
    if (metrics_) counts.merge(metrics_->take());
    return counts;
  }
  std::vector<Series> take_series() override { return metrics_ ? metrics_->take_series() : std::vector<Series>(); }

 private:
  struct Slot {
    uint64_t tag = 0;
    Nanoseconds enqueued = 0;
    int64_t output_limit = 0;
    std::string body;  // body of the request
    TokenAnswer answer;
  };

  void end(size_t index, std::optional<RequestError> request_error) {
    Slot& slot = slots_[index];
    const HttpRequest& request = *requests_[index];
    if (!request_error) {
      const std::string why = request.content_type().starts_with("text/event-stream") ? slot.answer.finish(clock_.now())
                                                                                      : "the answer is not a stream of events";
      if (!why.empty()) request_error = RequestError{RequestError::Kind::answer, short_words(why, address_.token)};
    }
    note(request, slot, request_error);
    if (request_error) {
      const Error error(ErrorKind::internal, request_error->what);
      return deliver({.tag = slot.tag, .status = Status::failed, .error = &error});
    }
    keep_text(slot.answer);
    deliver({.tag = slot.tag, .status = Status::ok, .marks = slot.answer.marks(), .tokens = &slot.answer.counts()});
  }

  void note(const HttpRequest& request, const Slot& slot, const std::optional<RequestError>& request_error) {
    const HttpRequest::Traffic traffic = request.traffic();
    tally_.add({.connections = traffic.connections,
                .sent = traffic.sent,
                .received = traffic.received,
                .header_bytes = traffic.sent_headers + traffic.received_headers,
                .send_delay = request.sent_at() == 0 ? -1 : request.sent_at() - slot.enqueued,
                .failed = request_error.has_value()});
    if (request_error) return;
    const TokenCounts& counts = slot.answer.counts();
    if (counts.stop == StopReason::limit && counts.output >= 0 && counts.output < slot.output_limit) ++truncated_;
    const auto& timings = slot.answer.timings();
    const auto found = timings.find("predicted_ms");
    if (found == timings.end() || !timings.contains("prompt_ms") || !timings.contains("predicted_n")) return;
    ++times_.requests;
    times_.prompt_ms += timings.at("prompt_ms");
    times_.predicted_ms += found->second;
    times_.intervals += std::max(timings.at("predicted_n") - 1, 0.0);
  }

  void deliver(const Done& done) {
    --in_flight_;
    completion_(std::span(&done, 1));
  }

  void keep_text(const TokenAnswer& answer) {
    if (texts_.size() < texts_to_count && answer.counts().output > 0) texts_.push_back({answer.text(), answer.counts().output});
  }

  void take_server_times(std::map<std::string, double>& counts) {
    if (times_.requests == 0) return;
    const auto requests = static_cast<double>(times_.requests);
    counts["server.prompt_ms"] = times_.prompt_ms / requests;
    counts["server.predicted_ms"] = times_.predicted_ms / requests;
    if (times_.intervals > 0) counts["server.predicted_per_token_ms"] = times_.predicted_ms / times_.intervals;
    times_ = {};
  }

  // Returns how many tokens the server's own tokenizer finds in a text; nullopt: it has none.
  std::optional<int64_t> tokenized(const std::string& text) {
    const json body{{"model", served_.model}, {"content", text}, {"prompt", text}, {"add_special", false}, {"add_special_tokens", false}};
    const std::string bytes = dump_line(body);
    question_.post("/tokenize", bytes, std::nullopt, settings_.timeout);
    if (question_.perform()) return std::nullopt;
    const json answer = parse_json(question_.body().json());
    if (!answer.is_object()) return std::nullopt;
    if (answer.contains("tokens") && answer["tokens"].is_array()) return static_cast<int64_t>(answer["tokens"].size());
    if (answer.contains("count") && answer["count"].is_number_integer()) return answer["count"].get<int64_t>();
    return std::nullopt;
  }

  void count_texts(std::map<std::string, double>& counts) {
    int64_t requests = 0, tokens = 0, counted = 0;
    for (const CountedText& one : texts_) {
      const auto found = tokenized(one.text);
      if (!found) break;
      ++requests;
      tokens += *found;
      counted += one.counted;
    }
    if (requests == 0) return;
    counts["tokenize.requests"] = static_cast<double>(requests);
    counts["tokenize.tokens"] = static_cast<double>(tokens);
    counts["tokenize.counted"] = static_cast<double>(counted);
  }

  const ServerAddress address_;
  const ServedGenerator served_;
  OpenaiSettings settings_;
  Clock& clock_;
  Completion completion_;
  const uint64_t unique_seed_;
  uint64_t next_number_ = 0;            // counts the texts that make prompts unique
  std::map<bool, StreamCheck> probes_;  // by whether they were chats
  std::vector<PromptBody> bodies_;      // bodies of the staged samples
  std::vector<Slot> slots_;
  int in_flight_ = 0;
  Tally tally_;
  ServerTimes times_;
  int64_t truncated_ = 0;  // answers that ended by their limit before it, as where a context is full
  std::vector<CountedText> texts_;
  std::optional<MetricsReader> metrics_;                // where they were asked for
  std::vector<std::unique_ptr<HttpRequest>> requests_;  // beside slots_
  HttpRequest question_;
  std::optional<HttpConnections> connections_;  // last: it uses the requests until it is gone
};

}  // namespace

std::unique_ptr<Session> make_openai_session(const ServerAddress& address, const ServedGenerator& served, const OpenaiSettings& settings,
                                             const LoadOptions& options) {
  return std::make_unique<OpenaiSession>(address, served, settings, options);
}

}  // namespace deepgap
