// Chooses how long a window under a latency bound is: longer than requested where it would hold too few queries to decide by the rule that
// judges it whether the bound is held.
#pragma once

#include "scenario/stopping.h"
#include "stats/latency_bound.h"
#include "worker/load_verdict.h"

#include <memory>

namespace deepgap {

// Extends the window of a schedule, which must be known before it begins: long enough that `rate` queries a second bring half as many again
// as the bound needs, since arrivals are random, but within the budget (or the requested length, if that is longer). Only rule `duration`
// has such a window; others, and rate 0, stay as they are.
StoppingSettings grown_settings(const StoppingSettings& asked, const LatencyBound& bound, double rate, BoundRule rule);
// Returns the fewest queries that can decide the bound, to which a window grows.
int64_t fewest_that_tell(const LatencyBound& bound, BoundRule rule);

// Returns the longest window of loops whose next query waits for an answer. In a peak search, queries that just hold the bound, one at a
// time and `pause` apart, are enough within it, so that every load is decided; the search has a budget of its own.
Nanoseconds longest_window(const StoppingSettings& asked, const LatencyBound& bound, bool peak_search, Nanoseconds pause = 0);

// `rule`, but not before the bound is decided or the window is `most` long. What is to be shown is looked at once in a quarter more
// queries: each look may be wrong.
std::unique_ptr<Stopping> until_decided(std::unique_ptr<Stopping> rule, const LatencyBound& bound, Nanoseconds most, BoundRule by);

}  // namespace deepgap
