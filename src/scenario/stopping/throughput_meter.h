// Items a second of the window that the added Timings span: from the first one's begin to the last one's end. Every Stopping has one.
#pragma once

#include "stats/correlated.h"

#include <deepgap/record.h>

namespace deepgap {

class ThroughputMeter {
 public:
  // In order of completion. The time between two completions is the cost of the items of the second.
  void add(const Timing& timing) {
    if (cycles_.count() == 0) first_begin_ = last_end_ = timing.begin;
    cycles_.add(static_cast<double>(timing.end - last_end_), timing.samples);
    last_end_ = timing.end;
  }

  int64_t count() const { return cycles_.count(); }
  Nanoseconds length() const { return last_end_ - first_begin_; }
  const RatioSeries& cycles() const { return cycles_; }  // nanoseconds over items
  Estimate throughput() const;
  // Half-width of the 95 % interval over the value; infinity while there is none.
  double relative_half_width() const;

 private:
  RatioSeries cycles_;
  Nanoseconds first_begin_ = 0, last_end_ = 0;
};

}  // namespace deepgap
