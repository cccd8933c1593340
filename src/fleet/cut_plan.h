// Cuts an inspected Plan into tasks. Pure functions.
//
// What is compared is measured on one node in one task: all repeats of a Point, the Points that differ in engine and precision alone, the
// tenants of a set. Such a cell is never cut; cells of one network on one kind of device follow each other until a task is long enough.
//
// A Point is therefore measured on one node, and nothing would show how nodes differ. So one Point of a task group, the one that takes
// least, is measured by each of its tasks: by the one that has it as the Plan says, by the others as further repeats with numbers of their
// own.
#pragma once

#include "fleet/fleet.h"

#include <functional>
#include <vector>

namespace deepgap {

struct CutSettings {
  double task_s = 600;  // a task is closed when it takes so long
  int most_tasks = 0;   // limit for the whole fleet: tasks become longer instead; 0: any number
  int common_runs = 0;  // runs of a task group's common Point in each task, if the task group has three tasks or more; 0: none
};

// Fills task groups and tasks of `fleet`, whose kinds each get the whole Plan. Returns the Jobs of each task. `seconds` estimates a Job.
std::vector<std::vector<Job>> cut_plan(Fleet& fleet, std::vector<Job> plan, const CutSettings& settings,
                                       const std::function<double(const Job&)>& seconds);

}  // namespace deepgap
