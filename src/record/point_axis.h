// An axis as part of a Point: a field or, under any other name, an option.
#pragma once

#include <deepgap/point.h>

#include <string>

namespace deepgap {

// Points that differ in it alone are equal without it. A file's content goes with its name.
void forget_axis(Point& point, const std::string& axis);

}  // namespace deepgap
