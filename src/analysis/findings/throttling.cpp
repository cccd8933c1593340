// Reports where a power limit or heat held the GPU's clocks back, and for which share of the time.
#include "analysis/finding.h"
#include "analysis/point_labels.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr double share_limit = 0.01;  // one reading of a hundred

void add_throttled(const std::vector<PointSummary>& points, const std::string& metric, const std::string& by, Tone tone,
                   std::vector<Statement>& statements) {
  const PointSummary* worst = nullptr;
  std::vector<const PointSummary*> found;
  for (const PointSummary& point : points) {
    const MetricSummary* share = point.find(metric);
    if (!point.usable() || share == nullptr || share->estimate.value < share_limit) continue;
    found.push_back(&point);
    if (worst == nullptr || share->estimate.value > worst->find(metric)->estimate.value) worst = &point;
  }
  if (worst == nullptr) return;
  std::string detail =
      fmt::format("The most is {}: {} of the time", PointLabels(points).of(*worst), format_percent(worst->find(metric)->estimate.value));
  if (const MetricSummary* power = worst->find("power_w")) detail += fmt::format(", at {} W", format_significant(power->estimate.value));
  if (const MetricSummary* clock = worst->find("gpu_clock_mhz"))
    detail += fmt::format(" and {} MHz", format_significant(clock->estimate.value, 4));
  statements.push_back(
      {tone, fmt::format("{} held back by {}", count_of(static_cast<int64_t>(found.size()), "point", "points"), by), detail + ".", found});
}

std::vector<Statement> find_throttling(const Evidence& evidence) {
  std::vector<Statement> statements;
  // At full load the limit is a property of the GPU; heat depends on the place where it stands.
  add_throttled(evidence.results.points, "throttled_power_share", "the GPU's power limit", Tone::note, statements);
  add_throttled(evidence.results.points, "throttled_thermal_share", "the GPU's temperature", Tone::warning, statements);
  return statements;
}

const bool registered = register_finding({"throttling", 72, find_throttling,
                                          "Points in whose measured window the driver named a power limit or heat as the reason for lower "
                                          "clocks, for at least 1 % of the time."});

}  // namespace
}  // namespace deepgap
