#include "backends/common/query_queue.h"

namespace deepgap {

void QueryQueue::push(int slot) {
  const std::lock_guard lock(mutex_);
  ring_[(first_ + waiting_) % ring_.size()] = slot;
  ++waiting_;
  ++unfinished_;
  arrived_.notify_one();
}

std::optional<int> QueryQueue::pop() {
  if (waiting_ == 0) return std::nullopt;
  const int slot = ring_[first_];
  first_ = (first_ + 1) % ring_.size();
  --waiting_;
  return slot;
}

std::optional<int> QueryQueue::take() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return waiting_ > 0 || closed_; });
  return pop();
}

std::optional<int> QueryQueue::take_if_any() {
  const std::lock_guard lock(mutex_);
  return pop();
}

void QueryQueue::finished() {
  const std::lock_guard lock(mutex_);
  if (--unfinished_ == 0) idle_.notify_all();
}

void QueryQueue::withdraw(const std::function<void(int slot)>& give_up) {
  const auto next = [&] {
    const std::lock_guard lock(mutex_);
    return pop();
  };
  for (auto slot = next(); slot; slot = next()) {
    give_up(*slot);
    finished();
  }
}

void QueryQueue::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return unfinished_ == 0; });
}

void QueryQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  arrived_.notify_all();
}

}  // namespace deepgap
