#include "cuda/completion_thread.h"

#include <algorithm>

namespace deepgap::cuda {
namespace {

// Returns true for a query that failed, too: taking its times reports the failure.
bool has_ended(const QueryEvents& query, bool alone) {
  try {
    if (alone) query.wait();
    return alone || query.ended();
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

std::array<Nanoseconds, 3> QueryEvents::durations() const {
  const Event& begin = events_[first];
  return {events_[copied].since_ns(begin), events_[computed].since_ns(begin), events_[last].since_ns(begin)};
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

CompletionThread::CompletionThread(const DeviceContext& context, Clock& clock, const Completion& completion)
    : context_(context), clock_(clock), completion_(completion), thread_([this] { serve(); }) {}

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

bool CompletionThread::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_.has_value();
}
void CompletionThread::throw_if_lost() const {
  const std::lock_guard lock(mutex_);
  if (lost_) throw Error(*lost_);
}

void CompletionThread::begin(QueryEvents& query, uint64_t tag) {
  throw_if_lost();
  query.tag_ = tag;
  query.enqueued_ = clock_.now();
  const std::lock_guard lock(mutex_);
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
    wake_.wait(lock, [&] { return ending_ || !running_.empty(); });
    if (running_.empty()) return;
    running = running_;
    lock.unlock();
    for (QueryEvents* query : running)
      if (has_ended(*query, running.size() == 1)) take(*query);
    if (running.size() > 1) std::this_thread::yield();
    lock.lock();
  }
}

// A sleeping thread is woken tens of microseconds late, and a small network takes no longer: between queries that follow each other it
// stays awake, where the host has CPUs to spare.
void CompletionThread::look_for_a_query(std::unique_lock<std::mutex>& lock) {
  constexpr Nanoseconds timeout = 1'000'000;
  if (std::thread::hardware_concurrency() < 4) return;
  lock.unlock();
  for (const Nanoseconds until = clock_.now() + timeout; !launched_.exchange(false) && clock_.now() < until;) __builtin_ia32_pause();
  lock.lock();
}

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
    if (error.kind() == ErrorKind::device_lost) lost_ = error;
  }
  deliver({.tag = query.tag_, .status = Status::failed, .marks = {}, .error = &error});
}

// Another thread may use the slot again as soon as the completion was called.
void CompletionThread::deliver(const Done& done) {
  if (completion_) completion_(std::span(&done, 1));
  const std::lock_guard lock(mutex_);
  --pending_;
  idle_.notify_all();
}

}  // namespace deepgap::cuda
