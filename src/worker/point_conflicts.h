// Refuses a Point whose features do not work together (base/feature_conflicts.h).
#pragma once

#include <deepgap/point.h>

namespace deepgap {

// Throws Error{usage}.
void refuse_point_conflicts(const Point& point);

}  // namespace deepgap
