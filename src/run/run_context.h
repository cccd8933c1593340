// What the parts of one run share: the loop (run_study.cpp), the sink of its Records (record_sink.h) and the factory of its planner
// (run_planner.h). Main thread.
#pragma once

#include "run/inspected_plan.h"
#include "run/progress.h"
#include "run/run_study.h"
#include "run/time_left.h"

#include <string>

namespace deepgap {

struct RunContext {
  const Study& study;
  const RunSettings& settings;
  Progress& progress;
  InspectedPlan plan{};
  RunReport report{};
  TimeLeft left{settings};
  bool threads_differ = false;
  double virtual_ahead_s = 0;  // by how much the runs in virtual time were longer on their clocks than here

  bool searches() const { return settings.peak || settings.tune; }
  bool runs(const Job& job) const { return job.skip_reason.empty() && plan.of(job).supported; }
  std::string label(const Point& point) const { return point_label(point, threads_differ); }
  std::string label(const Job& job) const;
  TimeSpan time_left(const Job* current = nullptr) const { return searches() ? left.of_search(report.saved) : left.of_jobs(current); }
};

}  // namespace deepgap
