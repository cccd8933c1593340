// Ratios with their intervals as people read them: no fewer digits than a decision about them needs. Pure functions.
#pragma once

#include "stats/interval.h"

#include <string>

namespace deepgap {

// All have two decimals, or as many as it takes to see that the interval has a width, and on which side of equality and of `margin`
// (1 / (1 + margin) and 1 + margin; 0: none) its ends lie: "1.21", "1.15", "1.27"; "0.972", "0.965", "0.979" at 2 %, which is 0.98.
struct RatioText {
  std::string ratio, low, high;
};
RatioText ratio_text(double ratio, const Interval& interval, double margin = 0);

}  // namespace deepgap
