// A Target that completes query n (counted from 0) after latency(n) of real time, on a thread of its own, several at once.
#pragma once

#include <deepgap/target.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>

namespace deepgap {

class TimedTarget final : public Target {
 public:
  using Latency = std::function<std::chrono::microseconds(uint64_t query)>;
  TimedTarget(Latency latency, TargetLimits limits) : latency_(std::move(latency)), limits_(limits) {
    thread_ = std::jthread([this](std::stop_token stop) { serve(stop); });
  }

  TargetLimits limits() const override { return limits_; }
  void on_completion(TargetCompletion completion) override {
    const std::lock_guard lock(mutex_);
    completion_ = std::move(completion);
  }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    const std::lock_guard lock(mutex_);
    for (const Query& query : queries) {
      const auto due = std::chrono::steady_clock::now() + latency_(submitted_++);
      running_.push({due, {query.id, 0, static_cast<uint32_t>(query.samples.size())}});
    }
    changed_.notify_one();
  }
  void flush() override {}
  void cancel() override {}

 private:
  struct Running {
    std::chrono::steady_clock::time_point due;
    Completed done;
    bool operator<(const Running& other) const { return due > other.due; }
  };

  void serve(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (running_.empty()) {
        changed_.wait(lock, stop, [this] { return !running_.empty(); });
      } else if (running_.top().due > std::chrono::steady_clock::now()) {
        const auto due = running_.top().due;
        changed_.wait_until(lock, stop, due, [this, due] { return running_.top().due < due; });
      } else {
        const Completed done = running_.top().done;
        running_.pop();
        const TargetCompletion completion = completion_;
        lock.unlock();  // the answer may bring the next query
        completion(std::span(&done, 1));
        lock.lock();
      }
    }
  }

  Latency latency_;
  TargetLimits limits_;
  TargetCompletion completion_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::priority_queue<Running> running_;
  uint64_t submitted_ = 0;
  std::jthread thread_;  // last: it ends first
};

}  // namespace deepgap
