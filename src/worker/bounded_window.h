// How long a window under a latency bound is: longer than asked where it would hold too few queries to tell whether the bound is held, by
// the rule that judges it.
#pragma once

#include "scenario/stopping.h"
#include "stats/latency_bound.h"
#include "worker/load_verdict.h"

#include <memory>

namespace deepgap {

// Of a schedule's window, which must be known before it begins: long enough that `rate` queries a second bring half as many again as the
// bound needs, since arrivals are random, but not beyond the budget (or what was asked, where that is more). Only rule `duration` has such
// a window; others, and rate 0, stay as they are.
StoppingSettings grown_settings(const StoppingSettings& asked, const LatencyBound& bound, double rate, BoundRule rule);
// The fewest queries that can tell: what a window grows to.
int64_t fewest_that_tell(const LatencyBound& bound, BoundRule rule);

// For loops whose next query waits for an answer: the end of growing. In a peak search it is not before queries that just hold the bound,
// one at a time and `pause` apart, would be enough, so that every load is told about; the search has a budget of its own.
Nanoseconds longest_window(const StoppingSettings& asked, const LatencyBound& bound, bool peak_search, Nanoseconds pause = 0);

// `rule`, but not before the bound is decided or the window is `most` long. What is to be shown is looked at once in a quarter more
// queries: each look may be wrong.
std::unique_ptr<Stopping> until_decided(std::unique_ptr<Stopping> rule, const LatencyBound& bound, Nanoseconds most, BoundRule by);

}  // namespace deepgap
