// SlicedWindow: a measured window that consists of an interleaved arm's time slices. The rule that ends it sees its timings in own time, as
// if the slices followed each other without a gap, so that it judges them as one piece. One thread.
#pragma once

#include "record/own_time.h"
#include "scenario/scenario.h"

#include <deepgap/clock.h>
#include <deepgap/record.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace deepgap {

class SlicedWindow {
 public:
  // Timings go to `log` as they are. Both outlive this.
  SlicedWindow(Stopping& rule, TimingSink& log) : rule_(rule), log_(log) {}

  struct Gave {
    double items_per_s = 0;  // 0: too little for a comparison
    double seconds = 0;      // with what was left out
  };
  // Drives one slice of about that length, or until the rule has ended. `pair`: number of its round; below 0 the slice is not kept.
  Gave take(Scenario& scenario, const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted, Nanoseconds length,
            int64_t pair);

  const std::vector<Slice>& slices() const { return slices_; }
  Nanoseconds length() const { return own_end_; }  // sum over all slices
  int64_t left_out() const { return left_out_; }   // queries at the begins of slices
  std::vector<Series> series() const { return {throughput_, pairs_}; }

 private:
  void keep(const class Turn& turn, double items_per_s, int64_t pair);

  Stopping& rule_;
  TimingSink& log_;
  std::vector<Slice> slices_;
  Nanoseconds own_end_ = 0;
  int64_t left_out_ = 0;
  bool is_slow_ = false;  // a query is longer than a slice: caches are warm again before it ends
  Series throughput_{"interleaved", "throughput", "items/s", false, {}, {}}, pairs_{"interleaved", "pair", "1", false, {}, {}};
};

}  // namespace deepgap
