// An MLPerf run as a WorkloadDriver: LoadGen's traffic instead of a Scenario's, its verdict and its logs, and `mlperf.*` facts.
#pragma once

#include "mlperf/loadgen/run_options.h"
#include "worker/dispatch_options.h"
#include "worker/workload_driver.h"

#include <memory>
#include <string>

namespace deepgap {

// The run that a Point's options make. Throws Error{usage}.
LoadgenRunSettings loadgen_run_of(const Point& point, int64_t library_size);

// Returns what a model answers to one sample in the accuracy log: for [N, classes] outputs the class with the largest score as a 4-byte
// float, else the first output's bytes.
std::string mlperf_answer(std::span<const TensorView> outputs, size_t row);

// `warm_up` is what the Sessions are warmed up with.
std::unique_ptr<WorkloadDriver> make_mlperf_driver(std::unique_ptr<WorkloadDriver> warm_up, const DispatchOptions& dispatch);

}  // namespace deepgap
