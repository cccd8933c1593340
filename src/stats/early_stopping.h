// The early stopping of MLPerf's LoadGen: how many queries show, at 99 % confidence, that a latency bound holds at a percentile.
//
// With t queries over the bound, h queries within it are enough when a process that is over it with probability 1 - percentile would show
// t or fewer such queries among h + t in less than 1 % of runs: I_p(h, t + 1) < 0.01, the regularised incomplete beta function.
#pragma once

#include <cstdint>
#include <optional>

namespace deepgap {

// Smallest h. `percentile` in (0, 1), `over` >= 0.
int64_t early_stopping_min_within(double percentile, int64_t over);

// Server: whether `count` queries of which `over` are late are enough.
bool early_stopping_met(double percentile, int64_t count, int64_t over);

// The other side of it: a process that is over with probability 1 - percentile would show `over` such queries or more among `count` in less
// than 1 % of runs. LoadGen has no such answer.
bool shown_to_be_over(double percentile, int64_t count, int64_t over);

// SingleStream and MultiStream: how many of the slowest of `count` queries may be left out, so that the slowest of the rest is an upper
// bound of the percentile: the estimate is sorted_latencies[count - that]. nullopt: too few queries (fewer than 64 for 0.9, 662 for 0.99).
std::optional<int64_t> early_stopping_discards(double percentile, int64_t count);

}  // namespace deepgap
