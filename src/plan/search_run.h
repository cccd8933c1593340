// SearchRun: what a Planner that chooses its Points as it goes asks of the run around it. Plain data; called by the parent's one thread.
#pragma once

#include "plan/study.h"

#include <functional>
#include <optional>
#include <string>

namespace deepgap {

struct SearchRun {
  std::function<std::string(const Job&)> group_key;  // which jobs may share a process, as for make_grid_planner
  std::function<double()> time_used;                 // share of the time allowed; from 1 on it is over. Asked before each run
  // Each Job with the one that its search began from, before anything else is asked about it.
  std::function<void(const Job& from, const Job& job)> announce;
  // The Record of that Job that was made before, which then takes the place of a run (--resume).
  std::function<std::optional<Record>(const Job&)> known;
};

}  // namespace deepgap
