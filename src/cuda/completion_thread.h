// Queries on a GPU from their launch to their answer: the events between a query's stages, and the thread that delivers what has ended.
#pragma once

#include "cuda/objects.h"
#include "cuda/query_stamps.h"

#include <deepgap/error.h>
#include <deepgap/session.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace deepgap::cuda {

// The events of one query at a time: of one slot, which records them in order as it queues the query's work. The context is current.
class QueryEvents {
 public:
  enum Stage : uint8_t {
    first,
    copied,
    computed,
    last
  };  // before the copies to the device, after them if there are any, after the work, after the copies back if there are any
  void record(Stage stage, StreamHandle stream) {
    if (stage == first) copied_ = false, stamps_ = nullptr;
    if (stage == copied) copied_ = true;
    events_[stage].record(stream);
    end_ = stage;
  }
  // Instead of record(first): the query copies nothing, and kernels of its work write these stamps, which outlive it. It ends with
  // `computed`, which is recorded behind its work.
  void stamp(const QueryStamps& stamps) {
    stamps.reset();
    stamps_ = &stamps;
  }
  EventHandle at(Stage stage) const { return events_[stage].get(); }
  // One more event, that the caller records within the work by its handle, also inside of a CUDA graph; its time becomes a mark.
  EventHandle add_part(MarkId id) { return parts_.emplace_back(id, Event()).second.get(); }

  bool ended() const { return (stamps_ != nullptr && stamps_->ended()) || events_[end_].passed(); }
  void wait() const;
  std::array<Nanoseconds, 3> durations() const;  // once ended: from `first` to each later stage

 private:
  friend class CompletionThread;
  std::vector<Mark> parts() const;  // valid once the query has ended; omits marks whose time is not known

  std::array<Event, last + 1> events_;
  Stage end_ = last;     // recorded last
  bool copied_ = false;  // recorded
  const QueryStamps* stamps_ = nullptr;
  std::vector<std::pair<MarkId, Event>> parts_;
  uint64_t tag_ = 0;
  Nanoseconds enqueued_ = 0;
};

// Holds the queries that a Session on a GPU has in flight. enqueue(), drain() and stop() come from the Session's one calling thread;
// completions from there (if the launch fails) and from the thread that this owns.
class CompletionThread {
 public:
  // The first three outlive this. `stays_awake`: the thread looks for the next query for a while before it sleeps.
  CompletionThread(const DeviceContext& context, Clock& clock, const Completion& completion, bool stays_awake = has_cpus_to_spare());
  ~CompletionThread() { stop(); }
  CompletionThread(const CompletionThread&) = delete;
  CompletionThread& operator=(const CompletionThread&) = delete;

  // `launch` queues the query's work and records its events. An Error that it throws is the query's failure, delivered at once; whatever it
  // queued before must have ended by then. Throws Error{device_lost} alone.
  template <typename Launch>
  void enqueue(QueryEvents& query, uint64_t tag, const Launch& launch) {
    begin(query, tag);
    try {
      launch();
    } catch (const Error& failure) {
      fail(query, failure);
      return throw_if_lost();
    }
    watch(query);
  }
  void drain();
  void stop();  // drains, and ends the thread; nothing is enqueued afterwards
  bool lost() const { return is_lost_; }
  // Returns how often the thread slept until a query came.
  int64_t sleeps() const { return sleeps_; }

 private:
  static bool has_cpus_to_spare();
  void begin(QueryEvents& query, uint64_t tag);
  void watch(QueryEvents& query);
  void throw_if_lost() const;
  void serve();
  void look_for_a_query(std::unique_lock<std::mutex>& lock);
  void take(QueryEvents& query);
  void fail(const QueryEvents& query, const Error& error);
  void deliver(const Done& done);

  const DeviceContext& context_;
  Clock& clock_;
  const Completion& completion_;
  const bool stays_awake_;
  std::atomic<bool> launched_ = false;  // a query was added to running_ since the last look
  std::atomic<bool> is_lost_ = false;   // lost_ is set
  std::atomic<int64_t> sleeps_ = 0;
  std::atomic<size_t> pending_ = 0;  // enqueued and not delivered
  mutable std::mutex mutex_;         // protects all members below
  std::condition_variable wake_, idle_;
  std::vector<QueryEvents*> running_;
  bool ending_ = false;
  std::optional<Error> lost_;
  std::thread thread_;
};

}  // namespace deepgap::cuda
