// LatencyBound: what a percentile of latency must not exceed for a result to be valid: "p99=15ms". Plain data; pure functions.
#pragma once

#include <deepgap/clock.h>

#include <string>

namespace deepgap {

struct LatencyBound {
  double percent = 99;
  Nanoseconds limit = 0;
  std::string text;  // as it was given
};

// Throws Error{usage} naming `text`.
LatencyBound parse_latency_bound(const std::string& text);

// The fewest queries of which that percentile is not just the slowest one: 100 for p99.
int64_t fewest_queries(const LatencyBound& bound);

}  // namespace deepgap
