// Detects a run in virtual time that would never end: such time moves by what is scheduled, and where every query comes when the one before
// is answered, only the queries' own time is scheduled. inspect() asks before anything runs.
#pragma once

#include "worker/point_options.h"

#include <string>

namespace deepgap {

// Returns why time would stand still; empty: it moves, at least at first.
std::string standstill(const Point& point, const PointOptions& options);

}  // namespace deepgap
