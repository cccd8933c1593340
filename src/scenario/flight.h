// Flight: a drive()'s queries between submit() and their completion, for the loops that decide when to submit (closed_loop.h,
// open_loop.h).
//
// Nothing is allocated per query once warm (bench/scenario_overhead.cpp, bench/harness_speed.cpp). Times: `begin` is what the loop says,
// just before submit(); `end` is taken in the completion callback, on whatever thread that is, so that waking the scenario's thread is
// not in the latency. An answer that comes twice, or for a query that was never submitted, is an Error{internal}.
#pragma once

#include "scenario/completion_queue.h"
#include "scenario/scenario.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// Used by the scenario's thread alone.
class Flight {
 public:
  // Throws Error{usage} when the Target takes fewer queries in flight or smaller ones. The traffic outlives it.
  Flight(const Traffic& traffic, Clock& clock, int64_t in_flight);
  ~Flight();
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  bool has_room() const { return free_count_ > 0; }
  bool idle() const { return free_count_ == slots_.size(); }

  // A query of the traffic's next `samples` samples (at most its batch). REQUIRES has_room(). It reaches the Target with send(), together
  // with what else was added since. Returns how late it is through the harness: against the time at which a harness without delays would
  // have submitted it, had the queries before it taken as long as they did. (A query that waits for the Target is not late by that; one
  // that waits because the harness was late with those before it is.)
  Nanoseconds add(Nanoseconds scheduled, Nanoseconds begin, int64_t samples);
  void send();
  // Returns what has finished since the last call, in order of completion; valid until the next one. A query that the Target gave up by
  // itself (shed) has Status::cancelled. Throws Error with the engine's reason when a query failed; one whose failure the Target outlives
  // has Status::failed, if the traffic wants to know about these.
  std::span<const Timing> collect();
  std::string why_failed(const Timing& timing) const;  // valid for the last collect()
  bool took_any() const { return took_any_; }          // whether the last collect() saw any completion at all
  // Sets, before a wait, whether completions end it, as they do at first. False: one that would have ended it has come; do not wait.
  bool await_completions(bool on);
  void cancel();  // gives up what has not begun; nothing is returned by collect() any more

 private:
  struct Slot {
    uint64_t number = 0;  // number of the query, from 0
    Nanoseconds scheduled = 0, begin = 0;
    Nanoseconds punctual = INT64_MIN;     // without delays of the harness: its begin, and once it is free its end
    uint32_t samples = 0, remaining = 0;  // remaining 0: the slot is free
    bool failed = false;
  };
  void settle(const CompletionQueue::Entry& entry);
  Slot& slot_of(uint64_t query);

  const Traffic& traffic_;
  std::shared_ptr<CompletionQueue> queue_;  // shared with the callback, which may outlast us by an instant
  std::vector<uint32_t> samples_;           // the traffic's, repeated so that every query is one stretch of it
  size_t cursor_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;  // a ring: who has been free for longest comes first
  size_t free_first_ = 0, free_count_ = 0;
  std::vector<Query> outgoing_;
  std::vector<Timing> finished_;
  std::vector<std::pair<uint64_t, std::shared_ptr<const Error>>> errors_;  // for queries in finished_ that failed, and parts of others
  uint64_t next_number_ = 0;
  bool took_any_ = false, cancelled_ = false, outlives_failures_ = false;
  bool awaits_completions_ = true;
};

// Adds a Timing of the last collect() that is in the window to the traffic's Failures, which it must have.
void note_failures(const Traffic& traffic, const Flight& flight, const Timing& timing);

}  // namespace deepgap
