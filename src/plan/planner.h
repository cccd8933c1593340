// Planner: hands out what to measure next, given the Records so far: here a grid in randomised blocks; later repeats until tight, peak
// search and tuning. Used by the parent's one thread.
#pragma once

#include "plan/planner_result.h"
#include "plan/study.h"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// Jobs that one worker process serves, in this order; or the tenants of one set, to be measured together.
struct Batch {
  std::string group;  // key of what the process shares
  std::vector<Job> jobs;
  // The process that served the Batch before goes on with this one where that is of the same group, and waits for the next.
  bool keeps_worker = false;
};

class Planner {
 public:
  virtual ~Planner() = default;
  // The next Batch for a free worker; empty jobs: finished.
  virtual Batch next() = 0;
  virtual void done(const Record& record) = 0;
  virtual size_t remaining() const = 0;                // jobs not handed out
  virtual PlannerResult result() const { return {}; }  // so far; of a grid there is none
};

// Repeat r of every Point comes before repeat r+1 of any; inside a block groups and the jobs of a group are shuffled by `seed`: the same
// order on every machine. `group_key` says which jobs may share a process; jobs to be skipped come as Batches of their own with the group
// "skipped". `finished` (from --resume) is left out.
std::unique_ptr<Planner> make_grid_planner(std::vector<Job> jobs, uint64_t seed, const std::function<std::string(const Job&)>& group_key,
                                           const std::set<std::pair<std::string, int>>& finished);

}  // namespace deepgap
