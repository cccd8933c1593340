// The shortest answer a model gives, for those who wait for it.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "stats/multiple.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace deepgap {
namespace {

struct Best {
  const Line* line;
  const PointSummary* point;
};

using BestByBackend = std::map<std::string, Best>;

double median(const PointSummary& point) { return point.find("latency_p50_ms")->estimate.value; }

BestByBackend best_by_backend(const Workload& workload) {
  BestByBackend best;
  for (const Line& line : workload.lines) {
    if (line.is_candidate()) continue;
    for (const PointSummary* point : line.points) {
      if (!point->usable() || point->find("latency_p50_ms") == nullptr) continue;
      const auto [place, is_first] = best.try_emplace(line.key.backend, Best{&line, point});
      if (!is_first && median(*point) < median(*place->second.point)) place->second = {&line, point};
    }
  }
  return best;
}

Statement lowest_latency_statement(const Workload& workload, const BestByBackend& best, const Best& least) {
  Statement statement;
  statement.headline =
      fmt::format("{}: {} ms median latency with {} at batch {}", workload.label,
                  format_estimate(least.point->find("latency_p50_ms")->estimate), least.line->label, least.point->point.batch);
  statement.points = {least.point};
  std::vector<std::string> words;
  double nearest = INFINITY;  // a choice matters as much as the nearest rival is behind
  for (const auto& [backend, other] : best) {
    if (other.point == least.point) continue;
    statement.points.push_back(other.point);
    const auto comparison = compare_points(*least.point, *other.point, "latency_p50_ms", confidence_of_best(best.size()));
    if (comparison) words.push_back(comparison_words(*comparison, other.line->label));
    nearest = std::min(nearest, certain_effect(comparison));
  }
  statement.effect = std::isinf(nearest) ? 0 : nearest;
  if (!words.empty()) statement.detail = "That is " + list_of(words, 3) + ". ";
  if (const MetricSummary* p99 = least.point->find("latency_p99_ms")) {
    statement.detail += fmt::format("One query in a hundred takes longer than {} ms.", format_estimate(p99->estimate));
  }
  return statement;
}

std::vector<Statement> find_lowest_latency(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    const auto best = best_by_backend(workload);
    const auto least = std::min_element(best.begin(), best.end(),
                                        [](const auto& a, const auto& b) { return median(*a.second.point) < median(*b.second.point); });
    if (least != best.end()) statements.push_back(lowest_latency_statement(workload, best, least->second));
  }
  return statements;
}

const bool registered = register_finding(
    {"lowest_latency", 30, find_lowest_latency,
     "The usable point with the lowest median latency of each model, against the lowest of each other engine, and its 99th percentile."});

}  // namespace
}  // namespace deepgap
