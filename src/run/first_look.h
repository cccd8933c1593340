// First looks: so short that they are hints, not results. One unchecked window of each Point shows a person who waits what to expect, and
// how long the Point will take. They go to no Store.
#pragma once

#include "run/inspected_plan.h"
#include "run/supervisor.h"
#include "run/time_estimate.h"

#include <chrono>
#include <functional>
#include <vector>

namespace deepgap {

struct FirstLooks {
  std::vector<Job> jobs;   // in the Plan's order, of 12 Points at most: of more, every second, third, ...
  size_t points = 0;       // that could be looked at
  Nanoseconds window = 0;  // length of each look
};

// Plans looks at Jobs that are measured until an interval is reached: a count or a duration already says how long a Job takes. A tenant by
// itself is not what a set of tenants measures, and the rules of a run say how long. `length` is what all looks may take.
FirstLooks first_looks(const std::vector<Job>& runnable, std::chrono::nanoseconds length);

// Looks until `length` is over or the user interrupts. The estimate learns from each; `see` gets what ran.
void take_first_looks(const FirstLooks& looks, const InspectedPlan& plan, uint64_t seed, std::chrono::nanoseconds length,
                      Supervisor& supervisor, const Interrupts& interrupts, TimeEstimate& estimate,
                      const std::function<void(const Record&)>& see);

}  // namespace deepgap
