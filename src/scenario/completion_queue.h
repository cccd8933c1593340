// CompletionQueue: from the completion's threads to the scenario's. Keeps its room, so that pushing allocates nothing once warm.
#pragma once

#include <deepgap/target.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace deepgap {

class CompletionQueue {
 public:
  struct Entry {
    uint64_t query = 0;
    uint32_t first = 0, count = 0;  // which of its samples
    Status status = Status::ok;
    Nanoseconds end = 0;
    std::shared_ptr<const Error> error = nullptr;  // a failure that the Target outlives
  };
  // Any thread. Whether the scenario's thread is to be woken for it.
  bool push(std::span<const Completed> completed, Nanoseconds end);
  // Scenario's thread.
  std::span<const Entry> take();  // valid until the next take()
  bool wake_for_each(bool on);    // at first it is on. Whether there is nothing to take

 private:
  std::mutex mutex_;
  std::vector<Entry> incoming_, taken_;
  bool wakes_ = true;
};

}  // namespace deepgap
