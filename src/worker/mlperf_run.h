// The measured part of an order that is an MLPerf run (option `mlperf`): LoadGen's traffic instead of a Scenario's, its verdict and its
// logs.
#pragma once

#include "scenario/scenario.h"
#include "worker/order.h"
#include "worker/pulse.h"

#include <deepgap/dataset.h>
#include <deepgap/target.h>

#include <atomic>
#include <memory>
#include <optional>

namespace deepgap {

bool is_mlperf(const Point& point);

// The Point's Scenario; of an MLPerf run the one that warms up. Throws Error{usage} for one that is not known.
std::unique_ptr<Scenario> scenario_of(const Point& point);

// How many samples a Dataset that is made up has for an MLPerf run; 0 for other Points. Throws Error{usage}.
size_t mlperf_library_size(const Point& point);

// Throws Error{usage} for options that make no run, as far as they can be judged without the Dataset.
void check_mlperf(const Point& point);

// How long a run's measured part is by its settings alone, where the system keeps up; 0 for other Points. Options that make no run: 0.
double mlperf_seconds(const Point& point);

// What a model answers to one sample in the accuracy log: for [N, classes] outputs the class with the largest score as a 4-byte float, else
// the first output's bytes.
std::string mlperf_answer(std::span<const TensorView> outputs, size_t row);

// `target` is loaded and warm. Fills the record's verdict, timings, estimates and `mlperf.*` facts. Returns when it was measured: from the
// start of issuing to the last completion; nothing of an accuracy run or an interrupted one. Throws Error.
std::optional<Window> run_mlperf(const WorkOrder& order, const Dataset& dataset, Target& target, Clock& clock, Pulse& pulse,
                                 const std::atomic<bool>& interrupted, Record& record);

}  // namespace deepgap
