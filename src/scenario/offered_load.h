// OfferedLoad: what an open loop offered and how it kept to its schedule, beside the Timings. Plain data, of one drive().
#pragma once

#include "stats/log_histogram.h"

#include <deepgap/clock.h>

#include <cstdint>

namespace deepgap {

struct OfferedLoad {
  Nanoseconds begin = 0;         // when the schedule that was offered began
  Nanoseconds length = 0;        // length of that schedule; 0: no open loop
  int64_t offered = 0;           // queries that were due in it
  int64_t finished_in_time = 0;  // queries out of those that were answered before its end
  // The backlog: queries that were due and never submitted, because the run gave up on an overloaded Target. Counted up to a limit.
  int64_t waiting = 0;
  Nanoseconds oldest_wait = 0;   // how long the oldest query that was not submitted had waited when the schedule ended
  bool issuer_was_late = false;  // most of that wait is the harness's own lateness: the issuing thread did not keep up
  // So long that the queue may be growing: more than 5 % of the schedule. With nothing left waiting it was not shown to.
  bool has_long_wait() const { return length > 0 && static_cast<double>(oldest_wait) > 0.05 * static_cast<double>(length); }
  // Nanoseconds by which each query was submitted later than by a harness without delays of its own (Flight::add).
  LogHistogram lateness;
};

inline constexpr int64_t most_waiting_counted = 10'000'000;

}  // namespace deepgap
