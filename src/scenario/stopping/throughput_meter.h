// Items a second of the window that the added Timings span: from the first one's begin to the last one's end. Every Stopping has one.
//
// Where a loop keeps several queries in flight, those of devices that keep step complete in one moment, and then none for the length of a
// query: what a completion took is then nothing or everything, and says nothing of how steady the devices are. So times are taken of whole
// rounds: as many completions as there are queries in flight.
#pragma once

#include "stats/correlated.h"

#include <deepgap/record.h>

namespace deepgap {

class ThroughputMeter {
 public:
  // `round`: completions of a round, at least 1.
  explicit ThroughputMeter(int64_t round = 1) : round_(round) {}

  // Adds timings in order of completion. The time since the last round is the cost of the items of this one.
  void add(const Timing& timing) {
    if (count_ == 0) first_begin_ = round_begin_ = timing.begin;
    ++count_;
    items_ += timing.samples;
    round_items_ += timing.samples;
    last_end_ = timing.end;
    if (!whole_rounds()) return;
    rounds_.add(static_cast<double>(last_end_ - round_begin_), round_items_);
    round_begin_ = last_end_;
    round_items_ = 0;
  }

  int64_t count() const { return count_; }  // number of queries
  Nanoseconds length() const { return count_ > 0 ? last_end_ - first_begin_ : 0; }
  bool whole_rounds() const { return count_ % round_ == 0; }
  int64_t round() const { return round_; }
  const RatioSeries& rounds() const { return rounds_; }  // nanoseconds over items
  Estimate throughput() const;
  // Half-width of the 95 % interval over the value; infinity while there is none.
  double relative_half_width() const;

 private:
  int64_t round_;
  RatioSeries rounds_;
  int64_t count_ = 0;
  double items_ = 0, round_items_ = 0;
  Nanoseconds first_begin_ = 0, round_begin_ = 0, last_end_ = 0;
};

}  // namespace deepgap
