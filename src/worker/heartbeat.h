// Heartbeat: reports to the parent that the worker is alive and how far it is, from a thread of its own.
//
// Alive means getting on: a heartbeat goes out when something was finished since the last one (a query, a phase), or when the process used
// the processor for at least a twentieth of the time, as compiling or a very long query does. Who only burns the processor falls silent
// after `timeout`. So an engine that waits forever is noticed, although this thread runs on.
// The measured thread pays one relaxed store a query.
#pragma once

#include "worker/protocol.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace deepgap {

// Decides whether a process gets on, asked at every look from the second on. Times count from any one moment.
class Liveness {
 public:
  struct Look {
    std::chrono::nanoseconds now, cpu;  // the clock, and the processor time of the whole process
    uint64_t progress = 0;              // changes whenever something was finished
  };
  Liveness(std::chrono::nanoseconds timeout, Look first) : timeout_(timeout), last_(first), last_change_(first.now) {}
  bool gets_on(const Look& look);

 private:
  std::chrono::nanoseconds timeout_;
  Look last_;
  std::chrono::nanoseconds last_change_;
};

class Heartbeat {
 public:
  struct Settings {
    std::chrono::nanoseconds period{std::chrono::milliseconds(250)};
    std::chrono::nanoseconds timeout{std::chrono::minutes(10)};
  };
  // `send` is called on the heartbeat's thread and on the one that calls enter(). Error thrown by it: the parent is gone, and so is this
  // process (_exit), at once.
  Heartbeat(std::function<void(const Frame&)> send, Settings settings);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void beat() { done_.store(done_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }  // by one thread
  // idle (between orders: silence is right), load, reference, check, warm_up, steady. Restarts the count of beats.
  void enter(const std::string& phase);

 private:
  void run();
  void tell(const std::string& phase, uint64_t done);

  std::function<void(const Frame&)> send_;
  Settings settings_;
  std::atomic<uint64_t> done_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string phase_ = "idle";
  uint64_t phases_ = 0;
  bool stop_ = false;
  Liveness liveness_;  // used by the heartbeat's thread
  std::thread thread_;
};

}  // namespace deepgap
