// Whether the clocks of GPUs that warm up have come to rest. A GPU that reaches its power limit begins at its highest clock and falls
// within a second or two to what the limit lets it keep; a window that begins before is faster at first than it goes on.
#pragma once

#include "telemetry/gpu_state.h"

#include <deepgap/clock.h>

#include <vector>

namespace deepgap {

// Used by one thread.
class ClockWatch {
 public:
  static constexpr Nanoseconds period = 100'000'000;  // between two readings, which take milliseconds

  // One reader for each GPU under load. One whose driver does not report the clock is not waited for.
  explicit ClockWatch(std::vector<GpuReader> gpus);

  bool empty() const { return gpus_.empty(); }
  // Returns whether no clock has changed by more than 1 %: between three readings and the three before them, below the power limit; between
  // ten readings and the ten before, since clocks alternate at the limit. Reads the GPUs once a `period` at most. `now` does not go back.
  bool settled(Nanoseconds now);
  // Returns whether a GPU was at its power limit at the last reading, or slowed down by it.
  bool at_power_limit() const { return at_power_limit_; }

 private:
  struct Gpu {
    GpuReader read;
    std::vector<double> clocks_hz;
  };
  bool take_reading(Gpu& gpu);

  std::vector<Gpu> gpus_;
  Nanoseconds next_ = 0;
  bool at_power_limit_ = false, settled_ = false;
};

}  // namespace deepgap
