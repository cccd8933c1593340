// Reports what several processes that train together are worth, and what averaging their gradients costs.
#include "analysis/baseline.h"
#include "analysis/finding.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

std::string efficiency(const PointSummary& point, const char* id, const char* scaling) {
  const MetricSummary* found = point.find(id);
  if (found == nullptr) return {};
  const Estimate& estimate = found->estimate;
  const auto interval = estimate.low && estimate.high ? std::optional(Interval{*estimate.low, *estimate.high}) : std::nullopt;
  return fmt::format("{} scaling efficiency {}", scaling, format_ratio(estimate.value, interval));
}

// Alone, what a step waits for, and so what is hidden.
std::string cost(const PointSummary& point) {
  const MetricSummary *alone = point.find("allreduce_alone_ms"), *waited = point.find("allreduce_ms"),
                      *hidden = point.find("allreduce_hidden_share");
  if (alone == nullptr || waited == nullptr || hidden == nullptr) return {};
  return fmt::format("Averaging the gradients takes {} ms alone; a step waits {} ms for it after its backward pass, {} of it is hidden",
                     format_significant(alone->estimate.value), format_significant(waited->estimate.value),
                     format_percent(hidden->estimate.value));
}

bool trains_together(const PointSummary& point) {
  return point.point.task == Task::train && point.point.placement.processes > 1 && point.usable();
}

Statement training_ranks_statement(const PointSummary& point) {
  std::vector<std::string> words;
  for (const std::string& part :
       {efficiency(point, "scaling_efficiency", "weak"), efficiency(point, "strong_scaling_efficiency", "strong")})
    if (!part.empty()) words.push_back(part);
  const std::string averaging = cost(point);
  if (words.empty() && averaging.empty()) return {};
  const size_t devices = point.point.placement.devices.size();
  Statement said;
  said.headline = fmt::format("Training {} in {} by {} processes of batch {} on {}: {}", point.point.model, name_of(point.point.precision),
                              point.point.placement.processes, point.point.batch,
                              devices > 1 ? fmt::format("{} devices", devices) : "one device that they share",
                              words.empty() ? "what averaging their gradients costs" : list_of(words));
  said.detail = averaging.empty() ? "" : averaging + ".";
  return said;
}

std::vector<Statement> find_training_ranks(const Evidence& evidence) {
  std::vector<Statement> statements;
  const std::vector<PointSummary>& points = evidence.results.points;
  if (std::none_of(points.begin(), points.end(), trains_together)) return statements;
  std::vector<PointSummary> scaled = points;
  add_scaling(scaled);
  for (size_t i = 0; i < points.size(); ++i) {
    if (!trains_together(points[i])) continue;
    Statement said = training_ranks_statement(scaled[i]);
    said.points = {&points[i]};
    if (!said.headline.empty()) statements.push_back(std::move(said));
  }
  return statements;
}

const bool registered =
    register_finding({"training_ranks", 54, find_training_ranks,
                      "Training by several processes, each on a device with a batch of its own. Compares throughput with that of one "
                      "device times their number, with one process's batch (weak) and with all of theirs together (strong). Shows the cost "
                      "of averaging gradients alone, after the backward pass, and hidden behind it."});

}  // namespace
}  // namespace deepgap
