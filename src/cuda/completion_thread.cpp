#include "cuda/completion_thread.h"

namespace deepgap::cuda {
namespace {

// Returns true for a query that failed, too: taking its times reports the failure.
bool has_ended(const QueryEvents& query) {
  try {
    return query.ended();
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

// The work of a query that is too long for the wait to matter, or that failed and writes no stamp, is waited for by its event.
void QueryEvents::wait() const {
  constexpr int looks = 10'000;
  for (int i = 0; stamps_ != nullptr && i < looks; ++i) {
    if (stamps_->ended()) return;
    __builtin_ia32_pause();
  }
  events_[end_].synchronize();
}

std::array<Nanoseconds, 3> QueryEvents::durations() const {
  if (stamps_ != nullptr) return {0, stamps_->between(), stamps_->between()};
  const Event& begin = events_[first];
  const Nanoseconds at_computed = events_[computed].since_ns(begin);
  return {copied_ ? events_[copied].since_ns(begin) : 0, at_computed, end_ == last ? events_[last].since_ns(begin) : at_computed};
}

std::vector<Mark> QueryEvents::parts() const {
  std::vector<Mark> marks;
  for (const auto& [id, event] : parts_) {
    try {
      marks.push_back({id, 1, event.since_ns(events_[first])});
    } catch (const Error&) {  // never recorded
    }
  }
  return marks;
}

CompletionThread::CompletionThread(const DeviceContext& context, Clock& clock, const Completion& completion, bool stays_awake)
    : context_(context), clock_(clock), completion_(completion), stays_awake_(stays_awake), thread_([this] { serve(); }) {}

bool CompletionThread::has_cpus_to_spare() { return std::thread::hardware_concurrency() >= 4; }

void CompletionThread::stop() {
  if (!thread_.joinable()) return;
  drain();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  launched_ = true;
  wake_.notify_all();
  thread_.join();
}

void CompletionThread::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return pending_ == 0; });
}

void CompletionThread::throw_if_lost() const {
  if (!is_lost_) return;
  const std::lock_guard lock(mutex_);
  throw Error(*lost_);
}

// Takes no lock: the next query begins while the thread still ends the delivery of the one before.
void CompletionThread::begin(QueryEvents& query, uint64_t tag) {
  throw_if_lost();
  query.tag_ = tag;
  query.enqueued_ = clock_.now();
  ++pending_;
}

void CompletionThread::watch(QueryEvents& query) {
  {
    const std::lock_guard lock(mutex_);
    running_.push_back(&query);
  }
  launched_ = true;
  wake_.notify_one();
}

// Delivers queries as their last events pass. One alone is waited for; of several each is asked in turn.
void CompletionThread::serve() {
  try {
    context_.use();
  } catch (const Error&) {  // the first query's events report it
  }
  std::vector<QueryEvents*> running;
  std::unique_lock lock(mutex_);
  while (true) {
    if (running_.empty()) look_for_a_query(lock);
    for (; running_.empty() && !ending_; wake_.wait(lock)) ++sleeps_;
    if (running_.empty()) return;
    running = running_;
    lock.unlock();
    for (QueryEvents* query : running)
      if (running.size() == 1 || has_ended(*query)) take(*query);
    if (running.size() > 1) std::this_thread::yield();
    lock.lock();
  }
}

// A sleeping thread is woken tens of microseconds late, and a small network takes no longer: between queries that follow each other it
// stays awake, where the host has CPUs to spare. launched_ may be set for a query that was seen already; then it looks on.
void CompletionThread::look_for_a_query(std::unique_lock<std::mutex>& lock) {
  constexpr Nanoseconds timeout = 1'000'000;
  if (!stays_awake_) return;
  const Nanoseconds until = clock_.now() + timeout;
  while (running_.empty() && !ending_ && clock_.now() < until) {
    lock.unlock();
    while (!launched_.exchange(false) && clock_.now() < until) __builtin_ia32_pause();
    lock.lock();
  }
}

// Waits for a query that has not ended.
void CompletionThread::take(QueryEvents& query) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(running_, &query);
  }
  try {
    query.wait();
    const auto [copied, computed, returned] = query.durations();
    const std::array<Mark, 6> marks{{{MarkId::enqueued, 0, query.enqueued_},
                                     {MarkId::h2d_begin, 1, 0},
                                     {MarkId::compute_begin, 1, copied},
                                     {MarkId::compute_end, 1, computed},
                                     {MarkId::d2h_end, 1, returned},
                                     {MarkId::returned, 0, clock_.now()}}};
    if (query.parts_.empty()) return deliver({.tag = query.tag_, .status = Status::ok, .marks = marks});
    std::vector<Mark> all = query.parts();
    all.insert(all.end(), marks.begin(), marks.end());
    deliver({.tag = query.tag_, .status = Status::ok, .marks = all});
  } catch (const Error& failure) {
    fail(query, failure);
  }
}

void CompletionThread::fail(const QueryEvents& query, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (error.kind() == ErrorKind::device_lost) {
      lost_ = error;
      is_lost_ = true;
    }
  }
  deliver({.tag = query.tag_, .status = Status::failed, .marks = {}, .error = &error});
}

// Another thread may use the slot again as soon as the completion was called.
void CompletionThread::deliver(const Done& done) {
  if (completion_) completion_(std::span(&done, 1));
  if (--pending_ > 0) return;
  const std::lock_guard lock(mutex_);
  idle_.notify_all();
}

}  // namespace deepgap::cuda
