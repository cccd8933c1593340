// A series of pairs as the Estimate that a Record keeps.
#pragma once

#include "stats/correlated.h"

#include <deepgap/record.h>

namespace deepgap {

// The ratio of the sums, with its 95 % interval where one is known. The series is not empty.
inline Estimate estimate_of(const RatioSeries& series) {
  Estimate estimate{series.sum_y() / series.sum_x(), {}, {}, series.count()};
  if (const auto ratio = series.estimate()) {
    estimate.low = ratio->interval().low;
    estimate.high = ratio->interval().high;
  }
  return estimate;
}

}  // namespace deepgap
