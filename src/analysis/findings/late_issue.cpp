// Reports where the harness could not keep to its schedule: latencies then hold its own lateness.
#include "analysis/finding.h"
#include "analysis/point_labels.h"
#include "analysis/words.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr double share_limit = 0.05;  // share of the median latency

std::vector<Statement> find_late_issue(const Evidence& evidence) {
  const PointSummary* worst = nullptr;
  double worst_share = 0;
  std::vector<const PointSummary*> found;
  for (const PointSummary& point : evidence.results.points) {
    const MetricSummary* late = point.find("issue_lateness_p99_us");
    const MetricSummary* median = point.find("latency_p50_ms");
    if (late == nullptr || median == nullptr || median->estimate.value <= 0) continue;
    const double share = late->estimate.value / 1e3 / median->estimate.value;
    if (share <= share_limit) continue;
    found.push_back(&point);
    if (share > worst_share) {
      worst = &point;
      worst_share = share;
    }
  }
  if (worst == nullptr) return {};
  const std::string detail = fmt::format(
      "The most is {}: 1 % of its queries were issued at least {} us after they were due, at a median latency of {} ms. "
      "Something else kept the CPUs busy, or the engine computes on the thread that issues (use in_flight=1 then).",
      PointLabels(evidence.results.points).of(*worst), format_significant(worst->find("issue_lateness_p99_us")->estimate.value),
      format_significant(worst->find("latency_p50_ms")->estimate.value));
  return {{Tone::warning, fmt::format("{} issued late", count_of(static_cast<int64_t>(found.size()), "point was", "points were")), detail,
           found}};
}

const bool registered = register_finding(
    {"late_issue", 74, find_late_issue,
     "Points whose queries were submitted late: the 99th percentile of the lateness of issue is more than 5 % of the median latency."});

}  // namespace
}  // namespace deepgap
