// Turns the flags of `deepgap tune` into the configurations to be tried, as a Study, and how the best is looked for.
#pragma once

#include "plan/study.h"
#include "plan/tune_planner.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct TuneRequest {
  std::vector<Axis> axes;             // the axes that were given
  std::optional<Nanoseconds> window;  // length of each run
  double peak_ratio = 0.05;
  int cpus = 1;  // that a Point may use
};

struct TuneStudy {
  Study study;
  TuneOrder order;
  std::vector<std::string> varied;  // axes with more than one value
};

// Makes the study. With an axis `bound`: scenario server, one sample a query if `batch` is not given, threads x streams x max_batch x
// max_delay. Without: scenario offline, threads x streams x batch. What is not given is chosen by the machine. On a CPU more streams than
// threads are left out. Throws Error{usage}.
TuneStudy make_tune_study(const TuneRequest& request);

}  // namespace deepgap
