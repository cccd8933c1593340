// Makes the planner of a run: a grid's, with as many repeats as are needed, or a search's. Main thread.
#pragma once

#include "plan/planner.h"
#include "run/run_context.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace deepgap {

// What a resumed run has already.
struct EarlierWork {
  std::set<JobId> finished;
  std::vector<Record> before;                              // those of `finished`, where they say how many more there are to be
  std::function<std::optional<Record>(const Job&)> known;  // the Record that takes the place of a search's run
};

// `run` outlives the planner. The Points of a search join the Plan as they are found.
std::unique_ptr<Planner> make_run_planner(RunContext& run, std::vector<Job> runnable, const EarlierWork& earlier);

}  // namespace deepgap
