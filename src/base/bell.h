// The waiter of a real clock sleeps on a Bell and the descriptors that it attends to.
#pragma once

#include <deepgap/clock.h>
#include <deepgap/error.h>

#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <ctime>
#include <functional>
#include <utility>
#include <vector>

namespace deepgap {

inline timespec as_timespec(Nanoseconds t) {
  timespec time{};
  time.tv_sec = t / 1'000'000'000;
  time.tv_nsec = t % 1'000'000'000;
  return time;
}

// A flag that one thread sleeps on, alone or beside descriptors. raise() costs one atomic exchange while nobody sleeps: it is called for
// every completion.
class Bell {
 public:
  Bell() = default;
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell() {
    if (event_ >= 0) ::close(event_);
  }
  void raise() {
    const int before = state_.exchange(raised, std::memory_order_acq_rel);
    if (before == sleeping) ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    if (before == polling) ::eventfd_write(event_, 1);
  }
  bool is_raised() const { return state_.load(std::memory_order_acquire) == raised; }
  // Lowers it. The exchange orders the look at the queue that follows after every raise() consumed.
  bool take() { return is_raised() && state_.exchange(quiet, std::memory_order_acq_rel) == raised; }

  // Returns when raised, at `t`, or by chance: the caller looks again.
  void sleep_until(Nanoseconds t) {
    if (!leave_quiet_for(sleeping)) return;
    const timespec deadline = as_timespec(t);
    ::syscall(SYS_futex, &state_, FUTEX_WAIT_BITSET_PRIVATE, sleeping, t == never ? nullptr : &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
    back_to_quiet_from(sleeping);
  }

  // Waits until the bell rings or one of the descriptors is readable, at most `left`. The first of `descriptors` is the bell's own.
  void poll_for(Nanoseconds left, std::vector<pollfd>& descriptors) {
    if (!leave_quiet_for(polling)) return;
    descriptors[0] = {.fd = event_, .events = POLLIN, .revents = 0};
    const timespec most = as_timespec(left);
    ::ppoll(descriptors.data(), descriptors.size(), left == never ? nullptr : &most, nullptr);
    back_to_quiet_from(polling);
    eventfd_t count = 0;
    if (descriptors[0].revents != 0) ::eventfd_read(event_, &count);
  }

  // Must be called before the first poll_for().
  void make_pollable() {
    if (event_ < 0) event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event_ < 0) throw Error(ErrorKind::out_of_memory, "no descriptor is left for an event");
  }

 private:
  bool leave_quiet_for(int state) {
    int expected = quiet;
    return state_.compare_exchange_strong(expected, state, std::memory_order_acq_rel);
  }
  void back_to_quiet_from(int state) { state_.compare_exchange_strong(state, quiet, std::memory_order_acq_rel); }

  static constexpr int quiet = 0, raised = 1, sleeping = 2, polling = 3;
  static_assert(sizeof(std::atomic<int>) == sizeof(int));
  std::atomic<int> state_{quiet};
  int event_ = -1;
};

// Something that a waiter looks after besides its clock.
class Attended {
 public:
  bool any() const { return !takes_.empty(); }
  void add(int descriptor, std::function<void()> take) {
    descriptors_.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    takes_.push_back(std::move(take));
  }
  void remove(int descriptor) {
    for (size_t i = 0; i < takes_.size(); ++i) {
      if (descriptors_[i + 1].fd != descriptor) continue;
      descriptors_.erase(descriptors_.begin() + static_cast<std::ptrdiff_t>(i + 1));
      takes_.erase(takes_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  void take() const {
    for (const auto& take : takes_) take();
  }
  std::vector<pollfd>& descriptors() { return descriptors_; }  // behind a place for the bell's

 private:
  std::vector<pollfd> descriptors_ = std::vector<pollfd>(1);
  std::vector<std::function<void()>> takes_;
};

}  // namespace deepgap
