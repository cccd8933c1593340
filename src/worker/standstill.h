// Whether a run in virtual time would never end: such time moves by what is scheduled, and where every query comes when the one before is
// answered, what is scheduled is the queries' own time alone. inspect() asks before anything runs.
#pragma once

#include "worker/point_options.h"

#include <string>

namespace deepgap {

// Why time would stand still; empty: it moves, at least at first.
std::string standstill(const Point& point, const PointOptions& options);

}  // namespace deepgap
