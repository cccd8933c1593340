// One Record of what several processes measured at a time, each a rank with its own devices.
//
// The ranks began together and ended each by its own Stopping; what counts is the window in which all of them ran. Clocks of processes on
// one machine are the same (CLOCK_MONOTONIC), so their timings are put side by side as they are. Pure function.
#pragma once

#include <deepgap/record.h>

#include <vector>

namespace deepgap {

// `ranks` are Records with outcome ok, at least one; the result begins as the first. Its timings are those of all that ended in the common
// window; throughput is their sum, with the ranks' intervals added as independent ones; other estimates are means, weighted by their
// observations, and offered and achieved rates are sums; metrics of resources are still those of ranks, to be computed anew. A row for each
// rank stands in the facts: rank.N.device, rank.N.throughput, rank.N.latency_p50_ms, rank.N.window_share (of its own window, that the
// common one is). The verdict is the worst one, with its rank.
Record join_ranks(const Point& point, std::vector<Record> ranks);

}  // namespace deepgap
