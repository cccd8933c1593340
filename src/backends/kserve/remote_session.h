// RemoteSession: what a Session on a server does whatever protocol reaches it: which queries are in flight, what they cost, and what the
// server reports about a window. A subclass for each protocol sends and reads.
#pragma once

#include "backends/common/port.h"
#include "backends/http/metrics.h"
#include "backends/http/request_error.h"
#include "backends/http/tally.h"
#include "backends/kserve/served_model.h"
#include "backends/kserve/settings.h"
#include "backends/kserve/statistics.h"

#include <deepgap/backend.h>
#include <deepgap/series_source.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class RemoteSession : public Session, public SeriesSource {
 public:
  RemoteSession(const KserveSettings& settings, const Model& model, const LoadOptions& options);

  int slots() const final { return static_cast<int>(queries_.size()); }
  bool outlives_failures() const final { return true; }
  void enqueue(int slot, std::span<const uint32_t> samples, uint64_t tag) final;
  void drain() final;
  void cancel() final;
  std::map<std::string, double> take_counts() final;
  std::vector<Series> take_series() final;

 protected:
  // The query in a slot that is in flight.
  struct Query {
    uint64_t tag = 0;
    int64_t batch = 0;
    Nanoseconds enqueued = 0;
  };
  // Sends a slot's query; finish() is called once for it, on any thread. Throws Error, having sent nothing, where samples do not fit.
  virtual void send(size_t slot, std::span<const uint32_t> samples) = 0;
  // Gives up all that is in flight: finish() is called for each, with a RequestError `cancelled` where it had not ended before.
  virtual void give_up() = 0;
  // Returns when a query may have been finished, while some are in flight. Here: when none is, by other threads.
  virtual void await_answers();
  virtual std::optional<ServerStatistics> ask_for_statistics() = 0;

  // The subclass is ready to be asked. Throws Error{refused} where metrics were asked for and are not there.
  void begin_counting(const ServedModel& served);
  // `cost` without its delay from enqueue() and its request error; `sent_at` 0: it was never sent.
  void finish(size_t slot, const std::optional<RequestError>& request_error, RequestCost cost, Nanoseconds sent_at);
  const Query& query(size_t slot) const { return queries_[slot]; }
  const KserveSettings& settings() const { return settings_; }
  Clock& clock() const { return clock_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs_of_model() const { return outputs_; }
  // Bytes that an answer may have, in whatever form a protocol writes numbers.
  size_t answer_limit() const { return answer_limit_; }

 private:
  void deliver(const Done& done);

  const KserveSettings settings_;
  Clock& clock_;
  Completion completion_;
  const std::vector<Port> inputs_, outputs_;
  const size_t answer_limit_;
  std::vector<Query> queries_;                  // a slot each
  std::optional<ServerStatistics> statistics_;  // when they were last taken
  std::optional<MetricsReader> metrics_;        // where they were asked for
  Tally tally_;
  std::atomic<int> in_flight_ = 0;
  std::mutex mutex_;
  std::condition_variable idle_;
};

}  // namespace deepgap
