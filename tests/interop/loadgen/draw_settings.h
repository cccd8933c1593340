// Settings of LoadGen runs, drawn at random.
#pragma once

#include "mlperf/loadgen/settings.h"

#include <functional>

namespace deepgap {

// Calls `check` with settings drawn anew, `cases` times (more with DEEPGAP_LONG_TESTS) or until a check has failed. Prints the seed, which
// DEEPGAP_SEED sets, and with a failure the settings as a run.json.
void for_random_settings(int cases, const std::function<void(const LoadgenSettings&)>& check);

}  // namespace deepgap
