// A Study's Plan after the inspection: what will be measured, what is refused, and what shares a process. Plain values, one thread.
#pragma once

#include "plan/planner.h"
#include "run/inspection.h"
#include "run/interrupts.h"
#include "run/progress.h"
#include "run/run_study.h"
#include "run/worker_link.h"
#include "worker/inspect.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

using JobId = std::pair<std::string, int>;  // point_id, repeat
inline JobId id_of(const Job& job) { return {job.point_id, job.repeat}; }

// A Plan whose Points were inspected: their ids are final.
struct InspectedPlan {
  std::vector<Job> jobs;
  std::map<std::string, InspectedPoint> points;  // by point_id
  Facts environment;
  bool interrupted = false;
  std::unique_ptr<ChildProcess> child;  // that looked at them, where it may go on as a worker

  const InspectedPoint& of(const Job& job) const { return points.at(job.point_id); }
};

// Asks about Points: inspect_in_child, or a test's own.
using Inspector = std::function<Inspected(const std::vector<Point>& points, const std::string& cache_dir, Interrupts& interrupts)>;

// Throws as `inspect` does.
InspectedPlan inspect_plan(const Study& study, const RunSettings& settings, const Inspector& inspect, Interrupts& interrupts,
                           Progress& progress);

// run_study() with what it has of the world: `host` starts its workers, or processes do where there is none. For tests.
RunReport run_study_with(const Study& study, const RunSettings& settings, const Inspector& inspect, WorkerHost* host);

// Jobs with the same key may share a process; the tenants of one set have a key of their own.
std::string group_key(const Job& job, const InspectedPlan& plan);
// Seconds of one query of each Point, by its arithmetic.
std::map<std::string, double> query_times(const InspectedPlan& plan);

}  // namespace deepgap
