// What differs in a run of a peak search (option `peak`): each draws arrivals of its own, and one that cannot hold its bound any more ends.
#pragma once

#include "scenario/scenario.h"
#include "worker/point_options.h"

#include <memory>

namespace deepgap {

// Gives the scenario, where it takes a seed, another one for each `number`: a repeat, so that repeats say something about other arrivals
// too, or the Point's `arrivals`. The model's weights stay those of the Point's seed.
void draw_own_arrivals(PointOptions& options, const std::vector<ScenarioOption>& known, int number);

// `rule`, or the end as soon as more queries have missed the bound than its percentile allows in the whole `duration`, even if all that are
// still to come held it. `rate` is what an open loop offers a second, 0 for a closed one: there, and where more come than that, the
// queries to come are counted at the pace of those so far and a tenth more.
std::unique_ptr<Stopping> until_hopeless(std::unique_ptr<Stopping> rule, const LatencyBound& bound, Nanoseconds duration, double rate);

}  // namespace deepgap
