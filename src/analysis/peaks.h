// The best usable point of each Line of a Workload, which findings and the last line of a run rank.
#pragma once

#include "analysis/lines.h"

#include <vector>

namespace deepgap {

// Refers to the Workload's lines and points.
struct Peak {
  const Line* line;
  const PointSummary* point;
  double throughput;
};

// Fastest first; Lines without a usable point are left out.
std::vector<Peak> peaks_of(const Workload& workload);
bool same_backend(const Peak& a, const Peak& b);

}  // namespace deepgap
