// mlperf_log_summary.txt, as LoadGen lays it out.
#pragma once

#include "mlperf/loadgen/verdict.h"

#include <string>

namespace deepgap {

// `verdict` nullptr: an accuracy run, whose summary has no results.
std::string loadgen_summary(const std::string& system, const LoadgenSettings& settings, const LoadgenVerdict* verdict, int64_t errors);

}  // namespace deepgap
