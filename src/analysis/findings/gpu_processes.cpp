// Points whose GPU was shared with other processes: neither their speed nor their energy is theirs alone.
#include "analysis/finding.h"
#include "analysis/words.h"
#include "record/tenant_set.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

std::vector<Statement> find_gpu_processes(const Evidence& evidence) {
  std::vector<const PointSummary*> found;
  for (const PointSummary& point : evidence.results.points) {
    const MetricSummary* others = point.find("gpu_other_processes");
    if (tenant_place(point.point)) continue;  // beside others because it was asked for
    if (others != nullptr && others->estimate.value > 0) found.push_back(&point);
  }
  if (found.empty()) return {};
  return {
      {Tone::warning,
       fmt::format("{} measured while other processes were on the GPU", count_of(static_cast<int64_t>(found.size()), "point", "points")),
       "Speed, memory and energy are those of all of them together.", found}};
}

const bool registered =
    register_finding({"gpu_processes", 82, find_gpu_processes, "Points during which the driver listed another process on their GPU."});

}  // namespace
}  // namespace deepgap
