// Until when GPUs under load stay below their power limit: read in a thread of its own, because a reading takes milliseconds that the
// measured thread has not.
#pragma once

#include "telemetry/gpu_state.h"

#include <deepgap/clock.h>

#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace deepgap {

class LimitWatch {
 public:
  struct Seen {
    Nanoseconds below_until = INT64_MIN;  // at this reading, and all before it, every GPU was below its limit
    bool reached = false;                 // at the one behind it, a GPU was not
  };

  // One reader for each GPU. `clock` outlives this.
  LimitWatch(Clock& clock, std::vector<GpuReader> gpus) : clock_(clock), gpus_(std::move(gpus)) {}

  // Returns whether every GPU reports its limit.
  bool knows_limits() const;
  // Reads the GPUs once. Not while the thread runs.
  void read();
  // Reads them again and again in a thread until this is destroyed.
  void start();
  Seen seen() const;  // any thread

 private:
  Clock& clock_;
  std::vector<GpuReader> gpus_;
  mutable std::mutex mutex_;
  Seen seen_;
  std::jthread thread_;  // last: it ends before what it uses goes
};

}  // namespace deepgap
