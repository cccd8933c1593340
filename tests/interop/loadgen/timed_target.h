// A Target that completes query n (counted from 0) after latency(n) of real time, on a thread of its own, several at once. It may generate:
// then the first token of each answer comes before.
#pragma once

#include <deepgap/target.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <thread>

namespace deepgap {

using TimedLatency = std::function<std::chrono::microseconds(uint64_t query)>;

struct TimedTokens {
  TimedLatency first;
  int64_t count = 0;  // 0: nothing is generated
};

class TimedTarget final : public Target {
 public:
  using Latency = TimedLatency;
  TimedTarget(Latency latency, TargetLimits limits, TimedTokens tokens = {}, Clock* clock = nullptr)
      : latency_(std::move(latency)), limits_(limits), tokens_(std::move(tokens)), clock_(clock) {
    thread_ = std::jthread([this](std::stop_token stop) { serve(stop); });
  }

  TargetLimits limits() const override { return limits_; }
  void on_completion(TargetCompletion completion) override {
    const std::lock_guard lock(mutex_);
    completion_ = std::move(completion);
  }
  // Called on the same thread as completions, with the query whose first token came.
  void on_first_token(std::function<void(uint64_t query)> first) {
    const std::lock_guard lock(mutex_);
    first_token_ = std::move(first);
  }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    const std::lock_guard lock(mutex_);
    for (const Query& query : queries) {
      const auto now = std::chrono::steady_clock::now();
      if (tokens_.count > 0) running_.push({now + tokens_.first(submitted_), {query.id}, true});
      running_.push({now + latency_(submitted_++), {query.id, 0, static_cast<uint32_t>(query.samples.size())}});
    }
    changed_.notify_one();
  }
  void flush() override {}
  void cancel() override {}

 private:
  struct Running {
    std::chrono::steady_clock::time_point due;
    Completed done;
    bool is_first_token = false;
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
        const Running next = running_.top();
        running_.pop();
        const TargetCompletion completion = completion_;
        const auto first_token = first_token_;
        lock.unlock();  // the answer may bring the next query
        if (next.is_first_token) {
          if (clock_ != nullptr) first_ns_[next.done.query] = clock_->now();
          if (first_token) first_token(next.done.query);
        } else {
          complete(next.done, completion);
        }
        lock.lock();
      }
    }
  }

  void complete(Completed done, const TargetCompletion& completion) {
    const Mark first{.id = MarkId::tokens, .ns = first_ns_[done.query]};
    const TokenCounts counts{.output = tokens_.count};
    if (tokens_.count > 0) {
      done.marks = std::span(&first, 1);
      done.tokens = &counts;
    }
    completion(std::span(&done, 1));
  }

  Latency latency_;
  TargetLimits limits_;
  TimedTokens tokens_;
  Clock* clock_;
  std::function<void(uint64_t)> first_token_;
  std::map<uint64_t, Nanoseconds> first_ns_;  // by query; the thread's
  TargetCompletion completion_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::priority_queue<Running> running_;
  uint64_t submitted_ = 0;
  std::jthread thread_;  // last: it ends first
};

}  // namespace deepgap
