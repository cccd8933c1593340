// LatencyBound: what a percentile of latency must not exceed for a result to be valid: "p99=15ms". Plain data; pure functions.
#pragma once

#include <deepgap/clock.h>

#include <optional>
#include <string>

namespace deepgap {

struct LatencyBound {
  double percent = 99;
  Nanoseconds limit = 0;
  std::string text;  // as it was given
};

std::optional<LatencyBound> latency_bound_from(const std::string& text);
// The same; throws Error{usage} naming `text` where it is none.
LatencyBound parse_latency_bound(const std::string& text);
// "p99" of "p99=15ms".
inline std::string percentile_name(const LatencyBound& bound) { return bound.text.substr(0, bound.text.find('=')); }

// The fewest queries of which that percentile is not just the slowest one: 100 for p99.
int64_t fewest_queries(const LatencyBound& bound);

}  // namespace deepgap
