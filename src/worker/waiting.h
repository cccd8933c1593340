// Waiting: how long a loaded worker waits between its time slices, and how much CPU time its engine uses meanwhile: engines' threads spin,
// at worst, and then disturb whoever runs. One thread.
#pragma once

#include "worker/process_facts.h"

#include <deepgap/clock.h>

#include <optional>
#include <utility>

namespace deepgap {

class Waiting {
 public:
  explicit Waiting(Clock& clock) : clock_(clock) {}
  void begin() { since_ = {clock_.now(), process_cpu_seconds()}; }
  void end() {
    if (!since_) return;
    seconds_ += static_cast<double>(clock_.now() - since_->first) / 1e9;
    cpu_seconds_ += process_cpu_seconds() - since_->second;
    since_.reset();
  }
  double seconds() const { return seconds_; }
  double cpus() const { return seconds_ > 0 ? cpu_seconds_ / seconds_ : 0; }

 private:
  Clock& clock_;
  std::optional<std::pair<Nanoseconds, double>> since_;
  double seconds_ = 0, cpu_seconds_ = 0;
};

}  // namespace deepgap
