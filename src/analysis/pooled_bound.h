// A latency bound over the repeats of a Point: their queries together, since it is them that the bound is about. Pure.
#pragma once

#include "stats/latency_bound.h"

#include <deepgap/record.h>

#include <optional>
#include <span>
#include <string>

namespace deepgap {

struct PooledBound {
  BoundAnswer answer = BoundAnswer::unknown;
  std::string words;  // "over 3 repeats 12 of 900 queries missed the bound p99=15ms: ...", but where it is held
};

// `missed_shares`: of each repeat. nullopt for a Point without a bound, for a peak search, whose runs are judged one by one, and for one
// repeat.
std::optional<PooledBound> pooled_bound(const Point& point, std::span<const Estimate> missed_shares);

}  // namespace deepgap
