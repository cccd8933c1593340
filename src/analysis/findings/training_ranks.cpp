// Reports what several processes that train together are worth, and what averaging their gradients costs.
#include "analysis/baseline.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/registry.h"
#include "base/text.h"

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

class TrainingRanks final : public Finding {
 public:
  std::string id() const override { return "training_ranks"; }
  int order() const override { return 54; }
  std::string describe() const override {
    return "Training by several processes, each on a device with a batch of its own. Compares throughput with that of one device times "
           "their number, with one process's batch (weak) and with all of theirs together (strong). Shows the cost of averaging gradients "
           "alone, after the backward pass, and hidden behind it.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    const std::vector<PointSummary>& points = evidence.results.points;
    if (std::none_of(points.begin(), points.end(), trains_together)) return statements;
    std::vector<PointSummary> scaled = points;
    add_scaling(scaled);
    for (size_t i = 0; i < points.size(); ++i) {
      if (!trains_together(points[i])) continue;
      Statement said = statement(scaled[i]);
      said.points = {&points[i]};
      if (!said.headline.empty()) statements.push_back(std::move(said));
    }
    return statements;
  }

 private:
  static bool trains_together(const PointSummary& point) {
    return point.point.task == "train" && point.point.placement.processes > 1 && point.usable();
  }

  static Statement statement(const PointSummary& point) {
    std::vector<std::string> words;
    for (const std::string& part :
         {efficiency(point, "scaling_efficiency", "weak"), efficiency(point, "strong_scaling_efficiency", "strong")})
      if (!part.empty()) words.push_back(part);
    const std::string averaging = cost(point);
    if (words.empty() && averaging.empty()) return {};
    const size_t devices = point.point.placement.devices.size();
    Statement said;
    said.headline = fmt::format("Training {} in {} by {} processes of batch {} on {}: {}", point.point.model,
                                name_of(point.point.precision), point.point.placement.processes, point.point.batch,
                                devices > 1 ? fmt::format("{} devices", devices) : "one device that they share",
                                words.empty() ? "what averaging their gradients costs" : list_of(words));
    said.detail = averaging.empty() ? "" : averaging + ".";
    return said;
  }
};

const bool registered = Registry<Finding>::instance().add("training_ranks", [] { return std::make_unique<TrainingRanks>(); });

}  // namespace
}  // namespace deepgap
