// Session: a loaded, compiled model with a fixed set of input and output buffers ("slots"), run asynchronously.
//
// Life of a query: the caller stages samples, enqueues up to slots() queries, and hears of each by the completion callback. A slot is
// busy from enqueue() until its Done was delivered; its outputs stay readable until the slot is enqueued again.
// Threads: one thread calls stage/enqueue/drain/cancel/reset; the callback may come on any thread, on several at once, also inside
// enqueue(), and must not call back into the Session.
#pragma once

#include <deepgap/clock.h>
#include <deepgap/error.h>
#include <deepgap/generate.h>
#include <deepgap/tensor.h>
#include <deepgap/train.h>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// A moment inside one query (or, on a device's own clock, a duration since the query's first device mark).
// A training step's computing ends with the update. forward_end: the loss is known; backward_end: the gradients are; allreduce_end:
// those of all ranks are averaged. Where the parts alternate, the marks lie so that the times between them are the sums. A query that
// generates has one mark for each delivery of tokens, in order: tokens for the answer, reasoning_tokens for what precedes it.
enum class MarkId : uint8_t {
  enqueued,
  h2d_begin,
  compute_begin,
  compute_end,
  d2h_end,
  returned,
  forward_end,
  backward_end,
  allreduce_end,
  tokens,
  reasoning_tokens
};
struct Mark {
  MarkId id = MarkId::enqueued;
  uint8_t clock = 0;  // 0: the run's Clock; 1: the device's, relative
  Nanoseconds ns = 0;
  uint32_t count = 1;  // tokens that a delivery brought
};

enum class Status : uint8_t { ok, failed, cancelled };

// The completion of one query.
struct Done {
  uint64_t tag = 0;  // as given to enqueue
  Status status = Status::ok;
  std::span<const Mark> marks;          // valid during the callback
  const Error* error = nullptr;         // reason of Status::failed, never null there; valid during the callback
  const TokenCounts* tokens = nullptr;  // counts of a query that generates; valid during the callback
};
using Completion = std::function<void(std::span<const Done>)>;

struct MemoryUse {
  int64_t reserved_bytes = -1;  // taken from the system or the device; -1: not known
  int64_t in_use_bytes = -1;
  int64_t peak_bytes = -1;  // largest in_use_bytes since reset_peak()
};

struct LayerTiming {
  std::string name;  // fused layers join their nodes' names with '+'
  std::string op;
  Nanoseconds ns = 0;  // duration of one run
};

// Called before the work of a layer is issued, with its name and operator as LayerTiming has them.
using LayerMark = std::function<void(const std::string& name, const std::string& op)>;

// Shares of the multiply-accumulates of one item by the precision in which the engine computes them: {"int8", 0.98}, {"fp32", 0.02}. They
// add up to 1; "unknown" holds what the engine does not report. Empty if it reports nothing.
using PrecisionShares = std::map<std::string, double>;

// Duration of each part of a load, by name: {"lower", ...}. Empty if the engine does not report it.
using LoadParts = std::map<std::string, Nanoseconds>;

class Session {
 public:
  virtual ~Session() = default;
  virtual int slots() const = 0;

  // Makes samples known by position: `inputs[i]` are sample i's input tensors, batch dimension 1 each, in the Graph's input order. They
  // must outlive their use: on a CPU, and with EngineRequest::samples_change, every query reads them where they are, so that bytes may be
  // rewritten before enqueue(); for other devices they may be copied here. Replaces the earlier set. Not timed.
  virtual void stage(std::span<const std::vector<TensorView>> inputs) = 0;

  // Runs the staged samples `samples` (positions in the staged set, at most the loaded batch size) as one batch in `slot`, which must be
  // free. Never blocks. A failure is a Done with Status::failed and its Error; throws Error{device_lost} alone.
  virtual void enqueue(int slot, std::span<const uint32_t> samples, uint64_t tag) = 0;

  // Returns one view per Graph output with the shapes of this run. They are valid until the slot is enqueued again.
  virtual std::span<const TensorView> outputs(int slot) const = 0;

  virtual void drain() = 0;   // returns when every enqueued query was delivered
  virtual void cancel() = 0;  // gives up what has not begun (Status::cancelled), then drains

  // Returns whether a query that failed leaves the others as they are, for example when a server answers one with an error. If so, a run
  // may continue and report the share of failed queries. Otherwise the first failure ends the run.
  virtual bool outlives_failures() const { return false; }

  virtual MemoryUse memory() const { return {}; }
  virtual void reset_peak() {}
  virtual std::vector<LayerTiming> layer_timings() { return {}; }  // runs once more, instrumented; for `profile` only
  // Runs layer after layer once more on the calling thread. Announces each by `mark` and returns when the device has done it, so that an
  // observer of the device can assign its work to layers. For `profile` only. Returns false if the engine does not expose its layers.
  virtual bool run_layers(const LayerMark& /*mark*/) { return false; }
  virtual PrecisionShares precision_shares() { return {}; }  // shares in what load() made; may load again, so not for a measured moment
  virtual LoadParts load_parts() const { return {}; }        // durations of the load() that made this Session

  // For Sessions of task train (deepgap/train.h), while nothing is in flight. reset() returns weights, the optimizer's state and random
  // numbers to what they were after load(). trained_weights() copies what training changes, by the names of the Graph's constants: weights
  // and running statistics. memory_kinds() runs steps of its own; reset() must follow it.
  virtual void reset() {}
  virtual std::map<std::string, Tensor> trained_weights() { return {}; }
  virtual MemoryKinds memory_kinds() { return {}; }

  // Returns what the Session counted since the last call besides its queries' times, by dotted name with the unit at its end:
  // {"connections.opened", 1}. May ask a server, so it is called when nothing is in flight, before and after a measured window.
  virtual std::map<std::string, double> take_counts() { return {}; }
};

}  // namespace deepgap
