// Latency against load as a peak search measured it, with the bound and the knee. Pure.
#pragma once

#include "analysis/lines.h"

#include <string>

namespace deepgap {

// Whether the Point is of a peak search.
bool is_peak_run(const PointSummary& point);

// A figure for each search of the Workload; empty without one.
std::string peak_charts(const Workload& workload);

}  // namespace deepgap
