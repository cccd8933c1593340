// The settings of one run as a JSON object: the file `run.json` that goes with recorded LoadGen runs.
#pragma once

#include "mlperf/loadgen/settings.h"

#include <string>

namespace deepgap {

// Keys are LoadgenSettings' names, besides "loadgen" (its version), "scenario" (SingleStream, MultiStream, Server, Offline) and "mode"
// (perf, acc, submission). total_sample_count and scenario must be there; the rest has LoadGen's defaults. What a recorded run says about
// itself (issue_calls, samples_issued, rows_recorded) is passed over. Throws Error{input}, naming `source`, for anything else; ranges
// and conflicts are check_settings'.
LoadgenSettings parse_run_json(const std::string& text, const std::string& source);

}  // namespace deepgap
