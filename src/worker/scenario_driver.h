// A Scenario's load as a WorkloadDriver: warm-up and window by Stopping rules, verdicts about load and latency bound.
#pragma once

#include "scenario/scenario.h"
#include "worker/point_options.h"
#include "worker/workload_driver.h"

#include <memory>

namespace deepgap {

// `stopping` is that of the measured window.
std::unique_ptr<WorkloadDriver> make_scenario_driver(const Point& point, PointOptions options, StoppingSettings stopping);

}  // namespace deepgap
