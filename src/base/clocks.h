// The two Clocks: real (CLOCK_MONOTONIC) for measurements, virtual for tests.
#pragma once

#include <deepgap/clock.h>

#include <memory>

namespace deepgap {

// wait_until sleeps and spins for the last stretch (about 50 us), so that it returns late by microseconds at most on a quiet core.
std::unique_ptr<Clock> make_real_clock();
std::unique_ptr<Clock> make_virtual_clock();  // starts at 0

}  // namespace deepgap
