// The Dispatcher's work in the measured window, as a Record keeps it. docs/reference/database.md names the keys.
#pragma once

#include "scenario/dispatcher_log.h"
#include "worker/dispatch_options.h"
#include "worker/workload_driver.h"

#include <deepgap/record.h>

#include <string>

namespace deepgap {

// Facts dispatcher.batches.N (batches with N samples), dispatcher.depth ("0 3 7": the most queries that waited in each of 60 equal parts of
// the window), dispatcher.sizes ("8 7.5 -": the mean size of the batches that left in each) and dispatcher.depth_s (the window's length),
// instance.N and instance.N.share (of the samples); estimates batch_size_mean, queue_depth_mean, queue_depth_max, shed_share,
// padding_share.
void keep_dispatcher_log(const DispatcherLog& log, Measured& measured);

Series queue_depth_series(const DispatcherLog& log);  // dispatcher/queue_depth: queries that waited, the highest in each 10 ms

// Returns why the result is invalid; empty when it is not.
std::string why_shed(const DispatcherLog& log, const DispatchOptions& options);

// All of that of a Dispatcher's log since the last one; returns why_shed(). nullptr: there is none, and nothing is kept.
std::string keep_dispatch(Dispatcher* dispatcher, const DispatchOptions& options, Measured& measured);
// Returns how many queries of the window were shed, as kept.
int64_t shed_queries(const Measured& measured);

}  // namespace deepgap
