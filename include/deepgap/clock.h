// The time every Scenario, Session and Probe of a run shares. Real in a measurement, virtual in tests: nothing of the harness may ask
// the system for the time by itself.
#pragma once

#include <cstdint>
#include <functional>

namespace deepgap {

using Nanoseconds = int64_t;  // since the clock's epoch
inline constexpr Nanoseconds never = INT64_MAX;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() const = 0;
  // Returns when `now() >= t` or when notify() was called since the last return, whichever is first; runs due scheduled work on the
  // calling thread first. One thread at a time may wait (the scenario's). With a virtual clock and nothing scheduled before `t`, time
  // jumps to `t`; with t == never and nothing scheduled it throws Error{internal} ("would wait for ever").
  virtual void wait_until(Nanoseconds t) = 0;
  // Wakes the waiter. May be called on any thread.
  virtual void notify() = 0;
  // Runs `work` inside the wait_until that passes `t`, on the waiting thread. Equal times run in the order they were scheduled. Any
  // thread; from another than the waiter's it is a notify() too. The null backend completes its scripted queries this way.
  virtual void schedule(Nanoseconds t, std::function<void()> work) = 0;
  // While it waits, the waiter also sleeps until `descriptor` is readable (POLLIN of poll(2)), and calls `take` then and at every look: it
  // takes what is there and does not block. So a server's answers are taken by the thread that waits for them, and no other one must wake
  // first. Called, as release() is, by the waiter's thread or while nobody waits; the descriptor stays the caller's. A virtual clock throws
  // Error{internal}: no time passes in it that others could answer in.
  virtual void attend(int descriptor, std::function<void()> take) = 0;
  virtual void release(int descriptor) = 0;
};

}  // namespace deepgap
