// The closed loop behind `batch` and `single-stream`: a fixed number of queries in flight; each completion makes room for the next.
//
// Nothing is allocated per query and a query costs well below a microsecond (bench/scenario_overhead.cpp). Times: `begin` just before
// submit(), `end` in the completion callback, on whatever thread that is, so that waking the scenario's thread is not in the latency.
#pragma once

#include "scenario/scenario.h"

#include <memory>
#include <mutex>
#include <vector>

namespace deepgap {

// From the completion's threads to the scenario's. Keeps its room, so that pushing allocates nothing once warm.
class CompletionQueue {
 public:
  struct Entry {
    uint64_t query = 0;
    uint32_t first = 0, count = 0;  // which of its samples
    Status status = Status::ok;
    Nanoseconds end = 0;
  };
  void push(std::span<const Completed> completed, Nanoseconds end);  // any thread
  std::span<const Entry> take();                                     // scenario's thread; valid until the next take()

 private:
  std::mutex mutex_;
  std::vector<Entry> incoming_, taken_;
};

// One tenant's part of the loop. Not thread-safe: the scenario's thread.
class ClosedLoop {
 public:
  // Throws Error{usage} when the Target takes fewer queries in flight or smaller ones.
  ClosedLoop(Tenant& tenant, Clock& clock, int64_t in_flight);
  ~ClosedLoop();
  ClosedLoop(const ClosedLoop&) = delete;
  ClosedLoop& operator=(const ClosedLoop&) = delete;

  bool has_enough() const { return tenant_.stopping->state() != Stopping::State::more; }
  void fill();     // submits until as many are in flight as may be
  bool collect();  // records what has completed; false when nothing had. Throws Error when a query failed.
  void cancel();   // gives up what is in flight and unrecorded
  bool idle() const { return free_.size() == in_flight_.size(); }
  void stop_recording() { recording_ = false; }

 private:
  struct InFlight {
    uint64_t query = 0;
    Nanoseconds begin = 0;
    uint32_t remaining = 0;  // samples; 0: the entry is free
  };
  void record(const CompletionQueue::Entry& entry);
  InFlight& find(uint64_t query);

  Tenant& tenant_;
  Clock& clock_;
  std::shared_ptr<CompletionQueue> queue_;  // shared with the callback, which may outlast us by an instant
  std::vector<uint32_t> samples_;           // the tenant's, repeated so that every query is one stretch of it
  size_t cursor_ = 0;
  std::vector<InFlight> in_flight_;
  std::vector<uint32_t> free_;  // indices of in_flight_
  std::vector<Timing> finished_;
  uint64_t next_query_ = 0;
  bool recording_ = true;
};

// The whole drive(): every tenant's loop until all have enough or `interrupted`.
void drive_closed_loops(std::span<Tenant> tenants, Clock& clock, const std::atomic<bool>& interrupted, int64_t in_flight);

}  // namespace deepgap
