#include "analysis/peaks.h"

#include <algorithm>

namespace deepgap {

std::vector<Peak> peaks_of(const Workload& workload) {
  std::vector<Peak> peaks;
  for (const Line& line : workload.lines) {
    const PointSummary* point = line.peak();
    if (point != nullptr && !point->offers_load()) peaks.push_back({&line, point, point->find("throughput")->estimate.value});
  }
  std::stable_sort(peaks.begin(), peaks.end(), [](const Peak& a, const Peak& b) { return a.throughput > b.throughput; });
  return peaks;
}

bool same_backend(const Peak& a, const Peak& b) { return a.line->key.backend == b.line->key.backend; }

}  // namespace deepgap
