// The two Clocks: real (CLOCK_MONOTONIC) for measurements, virtual for tests. The contract is in deepgap/clock.h.
//
// now() and notify() may be called from any thread. Work that throws passes its exception through wait_until; it is off the agenda then.
// A virtual clock's time passes only inside wait_until, so it cannot wait for other threads: tests with threads take the real one.
#pragma once

#include <deepgap/clock.h>
#include <deepgap/error.h>

#include <memory>

namespace deepgap {

// Thrown by a virtual clock where a real one would wait forever; of kind internal.
class WaitsForEver : public Error {
 public:
  WaitsForEver() : Error(ErrorKind::internal, "the virtual clock would wait forever: nothing is scheduled and no time was given") {}
};

// wait_until sleeps and spins for the last stretch (300 us at first, then as long as this machine is seen to need to wake sleepers:
// oversleep.h), so that few waits return late, by microseconds on a quiet core. With `linger`, a wait looks for notify() that long before
// it sleeps: a sleeping thread is woken tens of microseconds late, but one that looks takes a CPU. notify() costs one atomic exchange while
// the waiter is awake. Where the process has one CPU when the clock is made, each look lets its other threads work first. Descriptors that
// it attends to are asked at each look; with any, it sleeps in ppoll instead of on a futex.
std::unique_ptr<Clock> make_real_clock(Nanoseconds linger = 0);
std::unique_ptr<Clock> make_virtual_clock();  // starts at 0

}  // namespace deepgap
