#include "scenario/completion_queue.h"

#include <utility>

namespace deepgap {

bool CompletionQueue::push(std::span<const Completed> completed, Nanoseconds end) {
  const std::lock_guard lock(mutex_);
  for (const Completed& c : completed) {
    // A Target that answers sample by sample costs one entry a call, not one a sample.
    Entry* before = incoming_.empty() ? nullptr : &incoming_.back();
    const bool goes_on = before != nullptr && before->query == c.query && before->first + before->count == c.first &&
                         before->status == c.status && before->end == end && c.error == nullptr;
    if (goes_on) {
      before->count += c.count;
    } else {
      incoming_.push_back(
          {c.query, c.first, c.count, c.status, end, c.error == nullptr ? nullptr : std::make_shared<const Error>(*c.error)});
    }
  }
  return wakes_;
}

std::span<const CompletionQueue::Entry> CompletionQueue::take() {
  taken_.clear();
  const std::lock_guard lock(mutex_);
  std::swap(incoming_, taken_);
  return taken_;
}

bool CompletionQueue::wake_for_each(bool on) {
  const std::lock_guard lock(mutex_);
  wakes_ = on;
  return incoming_.empty();
}

}  // namespace deepgap
