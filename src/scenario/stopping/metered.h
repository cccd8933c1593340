// A Stopping that looks at how much was done or how long it took, and not at how much it scatters: its throughput, and the verdict by its
// interval, are the meter's.
#pragma once

#include "scenario/stopping.h"
#include "scenario/stopping/throughput_meter.h"
#include "scenario/stopping/window_verdict.h"

#include <span>

namespace deepgap {

class MeteredStopping : public Stopping {
 public:
  explicit MeteredStopping(int64_t round) : meter_(round) {}
  void add(std::span<const Timing> timings) override {
    for (const Timing& timing : timings) meter_.add(timing);
  }
  Estimate throughput() const override { return meter_.throughput(); }
  WindowVerdict verdict() const override { return window_verdict(meter_, {"throughput", meter_.relative_half_width(), {}, {}}); }

 protected:
  ThroughputMeter meter_;
};

}  // namespace deepgap
