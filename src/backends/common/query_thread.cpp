#include "backends/common/query_thread.h"

#include <utility>

namespace deepgap {

QueryThread::QueryThread(std::function<void()> begin, OfSlot answer, OfSlot give_up)
    : begin_(std::move(begin)), answer_(std::move(answer)), give_up_(std::move(give_up)), thread_([this] { serve(); }) {}

QueryThread::~QueryThread() {
  cancel();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void QueryThread::enqueue(size_t slot) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(slot);
    ++pending_;
  }
  wake_.notify_one();
}

void QueryThread::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return pending_ == 0; });
}

void QueryThread::cancel() {
  std::deque<size_t> given_up;
  {
    const std::lock_guard lock(mutex_);
    given_up.swap(waiting_);
  }
  for (const size_t slot : given_up) {
    give_up_(slot);
    const std::lock_guard lock(mutex_);
    --pending_;
  }
  drain();
}

void QueryThread::run(const std::function<void()>& work) {
  drain();
  std::unique_lock lock(mutex_);
  apart_ = &work;
  wake_.notify_one();
  idle_.wait(lock, [&] { return apart_ == nullptr; });
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void QueryThread::serve() {
  begin_();
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return ending_ || apart_ != nullptr || !waiting_.empty(); });
    if (apart_ != nullptr) {
      try {
        (*apart_)();
      } catch (...) {
        thrown_ = std::current_exception();
      }
      apart_ = nullptr;
      idle_.notify_all();
      continue;
    }
    if (waiting_.empty()) return;
    const size_t slot = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    answer_(slot);
    lock.lock();
    --pending_;
    idle_.notify_all();
  }
}

}  // namespace deepgap
