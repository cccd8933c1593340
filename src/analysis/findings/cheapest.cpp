// Finds what is cheapest by item, against the cheapest on every other kind and number of devices; and by run, where runs have a cost of
// their own.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace deepgap {
namespace {

constexpr const char* per_item = "cost_per_1000_items";

struct Cheap {
  const Line* line = nullptr;
  const PointSummary* point = nullptr;
};

double cost(const PointSummary& point, const char* metric) { return point.find(metric)->estimate.value; }

// Returns the cheapest by the label of the devices.
std::map<std::string, Cheap> cheapest_by_device(const Workload& workload, const char* metric) {
  std::map<std::string, Cheap> best;
  for (const Line& line : workload.lines) {
    if (line.is_candidate()) continue;
    for (const PointSummary* point : line.points) {
      if (!point->usable() || point->find(metric) == nullptr || !(cost(*point, metric) > 0)) continue;
      Cheap& kept = best[line.device_label];
      if (kept.point == nullptr || cost(*point, metric) < cost(*kept.point, metric)) kept = {&line, point};
    }
  }
  return best;
}

Statement cheapest_statement(const Workload& workload, const std::map<std::string, Cheap>& devices, const std::string& currency) {
  const auto least = std::min_element(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
    return cost(*a.second.point, per_item) < cost(*b.second.point, per_item);
  });
  const Cheap& best = least->second;
  Statement said;
  said.headline = fmt::format("{}: cheapest with {}, {} {} for 1000 items", workload.label, label_with_batch(*best.line, *best.point),
                              format_estimate(best.point->find(per_item)->estimate), currency);
  said.points = {best.point};
  std::vector<std::string> others;
  double nearest = INFINITY;  // a choice matters as much as the next one costs more
  for (const auto& [device, other] : devices) {
    if (other.point == best.point) continue;
    const auto times = compare_points(*other.point, *best.point, per_item);
    if (!times) continue;
    said.points.push_back(other.point);
    nearest = std::min(nearest, certain_effect(times));
    const bool open = times->interval && !times->separable();
    others.push_back(open ? fmt::format("{} without significant difference from it", device)
                          : fmt::format("{} at its cheapest, {} batch {}, costs {} times as much{}", device,
                                        name_of(other.point->point.precision), other.point->point.batch,
                                        format_ratio(times->ratio, times->interval), times->interval ? "" : " (single run)"));
  }
  if (!others.empty()) {
    said.detail = list_of(others) + ".";
    said.effect = nearest;  // finite: each of the others was compared
  }
  return said;
}

std::vector<Statement> find_cheapest(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    const auto devices = cheapest_by_device(workload, per_item);
    if (!devices.empty()) statements.push_back(cheapest_statement(workload, devices, evidence.results.currency));
  }
  return statements;
}

const bool registered = register_finding({"cheapest", 43, find_cheapest,
                                          "The usable point of each model with the least cost of 1000 items, from --prices or as "
                                          "published, against the cheapest of every other device or number of devices."});

}  // namespace
}  // namespace deepgap
