#include "backends/kserve/remote_session.h"

#include <deepgap/error.h>

#include <algorithm>

namespace deepgap {
namespace {

// Returns what the outputs take, as text if need be, and something for what stands round them.
size_t limit_of(const std::vector<Port>& outputs, int64_t batch) {
  constexpr size_t around = 1'000'000, characters = 32, of_unknown_shape = 1'000'000'000;
  size_t limit = around;
  for (const Port& output : outputs) {
    const auto shape = output.shape(batch);
    if (!shape) return of_unknown_shape;
    limit += characters * static_cast<size_t>(element_count(*shape));
  }
  return limit;
}

}  // namespace

RemoteSession::RemoteSession(const KserveSettings& settings, const Model& model, const LoadOptions& options)
    : settings_(settings),
      clock_(*options.clock),
      completion_(options.completion),
      inputs_(ports(model.graph(), model.graph().inputs)),
      outputs_(ports(model.graph(), model.graph().outputs)),
      answer_limit_(limit_of(outputs_, *std::max_element(options.batch_sizes.begin(), options.batch_sizes.end()))),
      queries_(static_cast<size_t>(std::max(options.slots, settings.connections))) {}

void RemoteSession::begin_counting(const ServedModel& served) {
  if (served.has_statistics) statistics_ = ask_for_statistics();
  if (!settings_.metrics.empty()) {
    // The token is left out: another port may be another service.
    metrics_.emplace(ServerAddress{settings_.metrics, "", settings_.ca_file}, settings_.timeout, clock_, served.name.name);
  }
}

void RemoteSession::enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) {
  const auto slot = static_cast<size_t>(index);
  queries_[slot] = {tag, static_cast<int64_t>(samples.size()), clock_.now()};
  ++in_flight_;
  try {
    send(slot, samples);
  } catch (const Error& error) {
    deliver({.tag = tag, .status = Status::failed, .marks = {}, .error = &error});
  }
}

void RemoteSession::finish(size_t slot, const std::optional<RequestError>& request_error, RequestCost cost, Nanoseconds sent_at) {
  const Query& query = queries_[slot];
  if (request_error && request_error->kind == RequestError::Kind::cancelled)
    return deliver({.tag = query.tag, .status = Status::cancelled, .marks = {}});
  cost.send_delay = sent_at == 0 ? -1 : sent_at - query.enqueued;
  cost.failed = request_error.has_value();
  tally_.add(cost);
  if (!request_error) return deliver({.tag = query.tag, .status = Status::ok, .marks = {}});
  const Error error(request_error->rejected ? ErrorKind::refused : ErrorKind::internal, request_error->what);
  deliver({.tag = query.tag, .status = Status::failed, .marks = {}, .error = &error});
}

void RemoteSession::deliver(const Done& done) {
  completion_(std::span(&done, 1));
  if (--in_flight_ > 0) return;
  const std::lock_guard lock(mutex_);  // else drain() may have looked and not yet be waiting
  idle_.notify_all();
}

void RemoteSession::drain() {
  while (in_flight_ > 0) await_answers();
}

void RemoteSession::await_answers() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return in_flight_ == 0; });
}

void RemoteSession::cancel() {
  give_up();
  drain();
}

std::map<std::string, double> RemoteSession::take_counts() {
  std::map<std::string, double> counts = tally_.take();
  if (const auto now = statistics_ ? ask_for_statistics() : std::nullopt) {
    counts.merge(between(*statistics_, *now));
    statistics_ = now;
  }
  if (metrics_) counts.merge(metrics_->take());
  return counts;
}

std::vector<Series> RemoteSession::take_series() { return metrics_ ? metrics_->take_series() : std::vector<Series>(); }

}  // namespace deepgap
