// The differences between runs: each repeat draws arrivals of its own, and a run of a peak search (option `peak`) ends once it cannot hold
// its bound any more.
#pragma once

#include "scenario/scenario.h"
#include "worker/point_options.h"

#include <memory>

namespace deepgap {

// Gives the scenario, where it takes a seed, another one for each repeat but the first, so that repeats say something about other arrivals
// too, and for each `arrivals` of the Point. Two Points of one seed have the same ones in the same repeat, so that what they draw is no
// difference between them. The model's weights stay those of the Point's seed.
void draw_own_arrivals(PointOptions& options, const std::vector<OptionInfo>& known, int repeat);

// The same of a backend that draws what it does from an option `seed` (null): its repeats are other processes.
void draw_own_stream(PointOptions& options, const std::vector<OptionInfo>& known, int repeat);

// `rule`, or the end as soon as more queries have missed the bound than its percentile allows in the whole `duration`, even if all that are
// still to come held it. `rate` is what an open loop offers a second, 0 for a closed one: there, and where more come than that, the
// queries to come are counted at the pace of those so far and a tenth more.
std::unique_ptr<Stopping> until_hopeless(std::unique_ptr<Stopping> rule, const LatencyBound& bound, Nanoseconds duration, double rate);

}  // namespace deepgap
