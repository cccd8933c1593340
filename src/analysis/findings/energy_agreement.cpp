// Checks whether a GPU's energy counter and its sampled power agree, where the window is long enough for both.
#include "analysis/finding.h"
#include "analysis/point_labels.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

constexpr double shortest_s = 30, most_apart = 0.03;

// Sampled over counted, less 1.
std::optional<double> difference_of(const PointSummary& point) {
  const MetricSummary *counted = point.find("energy_j_per_item"), *sampled = point.find("energy_sampled_j_per_item");
  const MetricSummary* length = point.find("steady_s");
  if (!point.usable() || counted == nullptr || sampled == nullptr || length == nullptr) return std::nullopt;
  if (length->estimate.value < shortest_s || !(counted->estimate.value > 0)) return std::nullopt;
  return sampled->estimate.value / counted->estimate.value - 1;
}

std::vector<Statement> find_energy_agreement(const Evidence& evidence) {
  std::vector<const PointSummary*> apart, all;
  const PointSummary* worst = nullptr;
  double most = 0;
  for (const PointSummary& point : evidence.results.points) {
    const auto difference = difference_of(point);
    if (!difference) continue;
    all.push_back(&point);
    if (std::abs(*difference) > most_apart) apart.push_back(&point);
    if (worst == nullptr || std::abs(*difference) > std::abs(most)) {
      worst = &point;
      most = *difference;
    }
  }
  if (worst == nullptr) return {};
  const std::string example =
      fmt::format("The largest difference is at {}: sampled power shows {} {} than the counter.",
                  PointLabels(evidence.results.points).of(*worst), format_percent(std::abs(most)), most < 0 ? "less" : "more");
  if (apart.empty()) return {{Tone::note, "Energy counter and sampled power agree within 3 %", example, all}};
  return {{Tone::warning,
           fmt::format("Energy counter and sampled power differ by more than 3 % for {}",
                       count_of(static_cast<int64_t>(apart.size()), "point", "points")),
           example, apart}};
}

const bool registered = register_finding(
    {"energy_agreement", 74, find_energy_agreement,
     "Energy an item by counter against the same by sampled power, for points measured for at least 30 s: they should agree within 3 %."});

}  // namespace
}  // namespace deepgap
