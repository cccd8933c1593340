// Which Points of a run are interleaved: those that differ in their engine alone stay loaded together and take turns in time slices, so
// that whatever else the machine does affects all of them alike. A Point stays apart where others would change its result. Pure functions.
#pragma once

#include "run/inspected_plan.h"

#include <string>
#include <vector>

namespace deepgap {

// Returns why the Job is measured apart from those of other engines; empty: it may be interleaved with them.
std::string why_apart(const Job& job);

// The same for Jobs of one Plan that differ in their engine alone.
std::string interleave_key(const Job& job);

// The same for Jobs whose engines may serve one set after the other in the same processes.
std::string interleaved_group(const Job& job);

// Returns the sets of a Batch of such Jobs, by their places in it, in the order of their first Jobs.
std::vector<std::vector<size_t>> interleaved_sets(const std::vector<Job>& jobs);

// Clears Job::interleave of those that are measured alone. Returns a line about engines that are not interleaved; empty: all are, or there
// is one.
std::string choose_interleaved(InspectedPlan& plan);

// Returns the length of a time slice: a twentieth of the window, 0.1 to 1 s.
Nanoseconds slice_length(const StoppingSettings& stopping);

}  // namespace deepgap
