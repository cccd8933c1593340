// Recognises Points that are MLPerf runs (option `mlperf`) and applies their options. worker/mlperf_drive.h runs them.
#pragma once

#include "scenario/mlperf/run_options.h"
#include "scenario/scenario.h"

#include <deepgap/point.h>

#include <memory>

namespace deepgap {

bool is_mlperf(const Point& point);

// The Point's Scenario; of an MLPerf run the one that warms up. Throws Error{usage} for one that is not known.
std::unique_ptr<Scenario> scenario_of(const Point& point);

// The run that a Point's options make. Throws Error{usage}.
LoadgenRunSettings loadgen_run_of(const Point& point, int64_t library_size);

// Returns how many samples a Dataset that is made up has for an MLPerf run; 0 for other Points. Throws Error{usage}.
size_t mlperf_library_size(const Point& point);

// Throws Error{usage} for options that make no run, as far as they can be judged without the Dataset.
void check_mlperf(const Point& point);

// Returns a run's measured seconds by its settings alone, if the system keeps up; 0 for other Points and for options that make no run.
double mlperf_seconds(const Point& point);

}  // namespace deepgap
