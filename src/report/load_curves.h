// Latency against the load that was offered, with the bound and the knee: of each peak search, and of each sweep, which are Points that
// differ in their load alone. Pure.
#pragma once

#include "analysis/lines.h"

#include <string>

namespace deepgap {

// Returns whether the Point belongs to a peak search.
bool is_peak_run(const PointSummary& point);

// A figure for each search and each sweep of the Workload; empty without one.
std::string load_curves(const Workload& workload);

}  // namespace deepgap
