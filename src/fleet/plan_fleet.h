// Makes a fleet that can be submitted out of a Study: inspects it here, where the user can fix what is wrong, and cuts it.
#pragma once

#include "fleet/cut_plan.h"
#include "fleet/scheduler.h"
#include "run/run_study.h"

#include <optional>
#include <vector>

namespace deepgap {

struct PlannedFleet {
  Fleet fleet;
  std::vector<std::vector<Job>> jobs;  // Jobs of each task
  int64_t points = 0;
  int64_t common = 0;              // records of common Points beyond the Plan's (cut_plan.h)
  int64_t skipped = 0;             // runs that become Records `skipped`
  std::vector<std::string> notes;  // for the user
};

// `fleet` has what the user said; the scheduler completes it. nullopt: interrupted. Throws Error{usage|input} for whatever is wrong in the
// Study, its files or the scheduler's options, and where the scheduler's time limit does not suffice for a cell (cut_plan.h).
std::optional<PlannedFleet> plan_fleet(const Study& study, Fleet fleet, const CutSettings& cut, Scheduler& scheduler,
                                       const RunSettings& settings);

}  // namespace deepgap
