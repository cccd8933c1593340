// Targets for tests and benches of scenarios: no model, only scripted completions.
#pragma once

#include <deepgap/clock.h>
#include <deepgap/error.h>
#include <deepgap/target.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace deepgap {

// Completes query n (counted from 0) after latency(n), as scheduled work of the Clock: exact in virtual time. Notes what it was asked.
class ScriptedTarget final : public Target {
 public:
  ScriptedTarget(Clock& clock, TargetLimits limits, std::function<Nanoseconds(uint64_t)> latency)
      : clock_(clock), limits_(limits), latency_(std::move(latency)) {}

  std::set<uint64_t> failing;  // queries that complete as failed
  bool outlives = false;       // those failures, where it is asked to
  bool inside_submit = false;  // complete before submit() returns instead
  int64_t tokens = 0;          // in each answer; the first comes after `first_token`
  Nanoseconds first_token = 0;
  std::vector<std::vector<uint32_t>> asked;  // the samples of each query
  int64_t in_flight = 0, most_in_flight = 0, cancels = 0;

  TargetLimits limits() const override { return limits_; }
  void on_completion(TargetCompletion completion) override { completion_ = std::move(completion); }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    for (const Query& query : queries) {
      asked.emplace_back(query.samples.begin(), query.samples.end());
      most_in_flight = std::max(most_in_flight, ++in_flight);
      const Completed done{query.id, 0, static_cast<uint32_t>(query.samples.size()),
                           failing.count(asked.size() - 1) != 0 ? Status::failed : Status::ok};
      const Nanoseconds begin = clock_.now();
      if (inside_submit) {
        complete(done, begin);
      } else {
        clock_.schedule(begin + latency_(asked.size() - 1), [this, done, begin] { complete(done, begin); });
      }
    }
  }
  bool outlive_failures(bool on) override {
    outliving_ = outlives && on;
    return outlives;
  }
  void flush() override {
    if (failed_) throw Error(ErrorKind::internal, "the scripted failure");
  }
  void cancel() override { ++cancels; }

 private:
  void complete(Completed done, Nanoseconds begin) {
    --in_flight;
    const Mark first{.id = MarkId::tokens, .ns = begin + first_token};
    const TokenCounts counts{.output = tokens};
    if (tokens > 0) done.marks = std::span(&first, 1);
    if (tokens > 0) done.tokens = &counts;
    const Error error(ErrorKind::internal, "the scripted failure");
    if (done.status == Status::failed && outliving_) done.error = &error;
    failed_ |= done.status == Status::failed && !outliving_;
    if (completion_) completion_(std::span(&done, 1));
  }

  Clock& clock_;
  TargetLimits limits_;
  std::function<Nanoseconds(uint64_t)> latency_;
  TargetCompletion completion_;
  bool failed_ = false, outliving_ = false;
};

// Completes on threads of its own, as soon as they get to it, in any order.
class ThreadedTarget final : public Target {
 public:
  ThreadedTarget(TargetLimits limits, int threads) : limits_(limits) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
  }

  TargetLimits limits() const override { return limits_; }
  void on_completion(TargetCompletion completion) override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return serving_ == 0; });
    completion_ = std::move(completion);
  }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    const std::lock_guard lock(mutex_);
    for (const Query& query : queries) waiting_.push_back({query.id, 0, static_cast<uint32_t>(query.samples.size())});
    arrived_.notify_all();
  }
  void flush() override {}
  void cancel() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return serving_ == 0 && waiting_.empty(); });
  }

 private:
  void serve(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (arrived_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
      const Completed done = waiting_.front();
      waiting_.pop_front();
      ++serving_;
      lock.unlock();
      completion_(std::span(&done, 1));
      lock.lock();
      if (--serving_ == 0) idle_.notify_all();
    }
  }

  TargetLimits limits_;
  TargetCompletion completion_;
  std::mutex mutex_;
  std::condition_variable_any arrived_, idle_;
  std::deque<Completed> waiting_;
  int serving_ = 0;
  std::vector<std::jthread> threads_;  // last: they end first
};

}  // namespace deepgap
