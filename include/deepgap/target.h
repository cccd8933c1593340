// Target: what a Scenario drives: a bare Session (scenario/session_target.h), a Dispatcher (scenario/dispatcher.h).
#pragma once

#include <deepgap/clock.h>
#include <deepgap/session.h>

#include <cstdint>
#include <functional>
#include <span>

namespace deepgap {

// One or more samples issued together. `samples` are Dataset indices, already loaded.
struct Query {
  uint64_t id = 0;
  Nanoseconds scheduled = 0;
  std::span<const uint32_t> samples;  // valid during submit() only
  int priority = 0;                   // 0 is the most urgent class, for Targets that have several
};

// Samples [first, first+count) of a query are finished.
struct Completed {
  uint64_t query = 0;
  uint32_t first = 0;
  uint32_t count = 0;
  Status status = Status::ok;
  std::span<const Mark> marks;  // valid during the callback
  // Outputs whose rows [row, row + count) belong to these samples, if the Target has them. Valid during the callback.
  std::span<const TensorView> outputs;
  size_t row = 0;
  bool shed = false;  // cancelled by a Target whose queue was full
  // Reason of a failure that the Target outlives (outlive_failures()). Valid during the callback.
  const Error* error = nullptr;
  const TokenCounts* tokens = nullptr;  // as in Done
};
using TargetCompletion = std::function<void(std::span<const Completed>)>;

struct TargetLimits {
  int64_t max_samples = 1;    // a query
  int64_t max_in_flight = 1;  // queries; submit() beyond it is a bug of the Scenario
};

// The scenario's thread calls everything; the completion may come on any thread, inside submit() too, and must not call the Target.
class Target {
 public:
  virtual ~Target() = default;
  virtual TargetLimits limits() const = 0;
  virtual void on_completion(TargetCompletion completion) = 0;  // before the first submit()
  virtual void load(std::span<const uint32_t> indices) = 0;
  virtual void unload(std::span<const uint32_t> indices) = 0;
  virtual void submit(std::span<const Query> queries) = 0;  // never blocks
  // If on, a query whose failure the Session outlives is completed as failed, with its Error. If off, as at first, it ends the run:
  // submit() and flush() throw from then on. Returns false if this Target cannot do the former; then nothing changed.
  virtual bool outlive_failures(bool /*on*/) { return false; }
  virtual void flush() = 0;   // no more queries are to be waited for to fill a batch
  virtual void cancel() = 0;  // gives up; every submitted query is completed or cancelled when it returns
};

}  // namespace deepgap
