// Queries that wait for a stream: slots in order of arrival, taken by whichever stream is free. Allocates nothing after construction.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace deepgap {

class QueryQueue {
 public:
  // `slots`: the most queries that are there at a time, waiting or taken.
  explicit QueryQueue(int slots) : ring_(static_cast<size_t>(slots)) {}

  void push(int slot);
  // The longest waiting query; waits for one. nullopt: the queue was closed, and nothing waits any more. finished() must follow when the
  // query was delivered.
  std::optional<int> take();
  std::optional<int> take_if_any();  // the same without waiting: nullopt: nothing waits
  void finished();
  // Hands what waits to `give_up`, which delivers it, instead of to a stream.
  void withdraw(const std::function<void(int slot)>& give_up);
  void drain();  // returns when nothing waits and all that was taken is finished
  void close();  // push() must not follow

 private:
  std::optional<int> pop();  // the caller holds mutex_

  std::mutex mutex_;  // guards all below
  std::condition_variable arrived_, idle_;
  std::vector<int> ring_;
  size_t first_ = 0, waiting_ = 0, unfinished_ = 0;
  bool closed_ = false;
};

}  // namespace deepgap
