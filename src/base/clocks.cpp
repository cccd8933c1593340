// One heap of scheduled work, two ideas of how time passes.
#include "base/clocks.h"

#include "base/bell.h"
#include "base/cpu.h"
#include "base/oversleep.h"

#include <deepgap/error.h>

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

// Work in order of its time, then of its scheduling.
class Agenda {
 public:
  void add(Nanoseconds t, std::function<void()> work) {
    entries_.push_back({t, next_order_++, std::move(work)});
    std::push_heap(entries_.begin(), entries_.end(), later);
  }
  Nanoseconds next() const { return entries_.empty() ? never : entries_.front().t; }
  // Runs the first entry. It is off the heap before it runs, since it may schedule more.
  void run_first() {
    std::pop_heap(entries_.begin(), entries_.end(), later);
    const auto work = std::move(entries_.back().work);
    entries_.pop_back();
    work();
  }

 private:
  struct Entry {
    Nanoseconds t;
    uint64_t order;
    std::function<void()> work;
  };
  static bool later(const Entry& a, const Entry& b) { return a.t != b.t ? a.t > b.t : a.order > b.order; }

  std::vector<Entry> entries_;
  uint64_t next_order_ = 0;
};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Linux may end a sleep up to 50 us late on purpose, to join wake-ups. Not on a thread that keeps a schedule.
void ask_for_prompt_wakeups() {
  thread_local const bool asked = ::prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0) == 0;
  static_cast<void>(asked);
}

class RealClock final : public Clock {
 public:
  explicit RealClock(Nanoseconds linger) : linger_(linger) {}

  Nanoseconds now() const override {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  void wait_until(Nanoseconds t) override {
    waiter_.store(&this_thread, std::memory_order_relaxed);
    const Nanoseconds awake_until = linger_ > 0 ? now() + linger_ : 0;
    for (;;) {
      take_from_others();
      run_due();
      attended_.take();
      if (bell_.take()) return;
      const Nanoseconds until = std::min(t, agenda_.next());
      const Nanoseconds left = until == never ? never : until - now();
      if (left <= 0 && until == t) return;
      if (awake_until != 0 && now() < awake_until) {
        while (now() < std::min(until, awake_until) && !bell_.is_raised()) look_again();
      } else if (const Nanoseconds spin = oversleep_.allowance(); left > spin) {
        ask_for_prompt_wakeups();
        sleep_until(until == never ? never : until - spin);
        if (const Nanoseconds late = until == never ? 0 : now() - (until - spin); late > 0) oversleep_.add(late);  // else it was woken
      } else {
        while (now() < until && !bell_.is_raised()) look_again();
      }
    }
  }

  void notify() override { bell_.raise(); }

  void attend(int descriptor, std::function<void()> take) override {
    bell_.make_pollable();
    attended_.add(descriptor, std::move(take));
  }
  void release(int descriptor) override { attended_.remove(descriptor); }

  void schedule(Nanoseconds t, std::function<void()> work) override {
    if (waiter_.load(std::memory_order_relaxed) == &this_thread) return agenda_.add(t, std::move(work));
    {
      const std::lock_guard lock(mutex_);
      from_others_.emplace_back(t, std::move(work));
      others_scheduled_.store(true, std::memory_order_relaxed);
    }
    bell_.raise();
  }

 private:
  // On the process's only CPU whoever else of it has work, such as the thread that takes a server's answers, gets it first.
  void look_again() const {
    attended_.take();
    if (has_one_cpu_) {
      ::sched_yield();
    } else {
      relax();
    }
  }

  void sleep_until(Nanoseconds t) {
    if (!attended_.any()) return bell_.sleep_until(t);
    const Nanoseconds left = t == never ? never : t - now();
    if (left > 0) bell_.poll_for(left, attended_.descriptors());
  }

  void take_from_others() {
    if (!others_scheduled_.load(std::memory_order_relaxed)) return;  // seen with the bell at the latest
    const std::lock_guard lock(mutex_);
    others_scheduled_.store(false, std::memory_order_relaxed);
    for (auto& [t, work] : from_others_) agenda_.add(t, std::move(work));
    from_others_.clear();
  }

  // What becomes due meanwhile waits for the next look, so that work which schedules work for "now" cannot hold the thread forever.
  void run_due() {
    if (agenda_.next() == never) return;
    const Nanoseconds entered = now();
    while (agenda_.next() <= entered) agenda_.run_first();
  }

  Oversleep oversleep_;  // used by the one thread that waits
  Nanoseconds linger_;
  const bool has_one_cpu_ = count_allowed_cpus() == 1;
  inline static thread_local const char this_thread = 0;  // its address is the thread's
  std::atomic<const char*> waiter_{&this_thread};         // the thread that waited last; at first the one that made the clock
  Agenda agenda_;                                         // the waiter's alone: what it schedules itself takes no lock
  std::mutex mutex_;
  std::vector<std::pair<Nanoseconds, std::function<void()>>> from_others_;
  std::atomic<bool> others_scheduled_{false};
  Bell bell_;
  Attended attended_;
};

class VirtualClock final : public Clock {
 public:
  Nanoseconds now() const override { return now_.load(std::memory_order_relaxed); }

  void wait_until(Nanoseconds t) override {
    for (;;) {
      while (agenda_.next() <= now()) agenda_.run_first();
      if (notified_.exchange(false, std::memory_order_acq_rel) || now() >= t) return;
      const Nanoseconds next = std::min(t, agenda_.next());
      if (next == never) throw WaitsForEver();
      now_.store(next, std::memory_order_relaxed);
    }
  }

  void notify() override { notified_.store(true, std::memory_order_release); }
  void schedule(Nanoseconds t, std::function<void()> work) override { agenda_.add(t, std::move(work)); }
  void attend(int, std::function<void()>) override { throw Error(ErrorKind::internal, "a virtual clock attends to no descriptors"); }
  void release(int) override {}

 private:
  std::atomic<Nanoseconds> now_{0};
  std::atomic<bool> notified_{false};
  Agenda agenda_;
};

}  // namespace

std::unique_ptr<Clock> make_real_clock(Nanoseconds linger) { return std::make_unique<RealClock>(linger); }
std::unique_ptr<Clock> make_virtual_clock() { return std::make_unique<VirtualClock>(); }

}  // namespace deepgap
