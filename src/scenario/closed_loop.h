// The closed loop behind `batch`, `single-stream` and `multi-stream`: a fixed number of queries in flight; each completion makes room for
// the next.
#pragma once

#include "scenario/scenario.h"

namespace deepgap {

// The whole drive(): until the Stopping has enough or `interrupted`. Throws what Flight throws.
void drive_closed_loop(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted, int64_t in_flight);

}  // namespace deepgap
