// The Points of the Backend that computes nothing (docs/reference/engines/null.md): they measure deepgap itself, and are no way to run a
// model, so that none is ever recommended.
#pragma once

#include <deepgap/point.h>

namespace deepgap {

inline bool is_scripted(const Point& point) { return point.backend == "null"; }

}  // namespace deepgap
