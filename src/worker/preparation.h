// Prepares an order before anything is loaded: its options, sorted and completed, the end of its window, and the WorkloadDriver.
#pragma once

#include "scenario/scenario.h"
#include "worker/point_options.h"
#include "worker/workload_driver.h"

#include <deepgap/backend.h>

#include <memory>

namespace deepgap {

struct Preparation {
  PointOptions options;
  StoppingSettings stopping;  // for the measured window
  std::unique_ptr<WorkloadDriver> driver;
  bool computes = true;  // Backend::computes()
};

// Throws Error{usage} for a scenario, an option or a value that is not known.
Preparation prepare(const WorkOrder& order, const Backend& backend);

// `asked`, or the scenario's own length of the window where nobody asked for another ending: the rule that Study files and flags begin
// with.
StoppingSettings window_settings(const Scenario& scenario, const StoppingSettings& asked);

// Queries in the stages at a time, end to end, and the threads that decode. Once the process is pinned, where it is to be.
int64_t pipeline_slots_of(const Point& point, const PointOptions& options);
int decode_threads_of(const Point& point, const PointOptions& options);

}  // namespace deepgap
