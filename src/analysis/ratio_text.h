// Ratios with their intervals as people read them: no fewer digits than a decision about them needs. Pure functions.
#pragma once

#include "stats/interval.h"

#include <string>
#include <vector>

namespace deepgap {

// All have two decimals, or as many as it takes to see that the interval has a width, and on which side of equality and of each of the
// `margins` (1 / (1 + margin) and 1 + margin; 0: none) its ends lie: "1.21" and "1.15 to 1.27"; "0.972" and "0.965 to 0.979" at 2 %, which
// is 0.98. The range of an interval that includes 1 and spans more than a factor of 20 is "too noisy": numbers would only look like
// knowledge.
struct RatioText {
  std::string ratio, range;
};
RatioText ratio_text(double ratio, const Interval& interval, const std::vector<double>& margins = {});
// A ratio that has no interval and is called more or less than 1: "0.97", "1.003".
std::string ratio_beside_one(double ratio);

}  // namespace deepgap
