#include "analysis/accuracy_loss.h"

#include "record/identity.h"
#include "record/point_option.h"

#include <map>
#include <tuple>

namespace deepgap {
namespace {

// Two Points must share this key for their accuracies to use the same samples.
using SampleKey = std::tuple<WorkloadKey, std::string, std::string, int64_t>;

SampleKey samples_of(const PointSummary& point, const MetricSummary& accuracy) {
  const Point& p = point.point;
  return {workload_key(p), option_of(p, "labels"), option_of(p, "label_offset", "0"), accuracy.estimate.n};
}

std::optional<double> reference_for(const PointSummary& point, const std::vector<const PointSummary*>& references) {
  for (int nearness = 2; nearness >= 0; --nearness) {
    double sum = 0;
    int64_t count = 0;
    for (const PointSummary* other : references) {
      const bool same_backend = other->point.backend == point.point.backend;
      const bool same_device =
          same_backend && other->point.placement == point.point.placement && other->identity.device == point.identity.device;
      if ((nearness == 2 && !same_device) || (nearness == 1 && !same_backend)) continue;
      sum += other->find("accuracy_top1")->estimate.value;
      ++count;
    }
    if (count > 0) return sum / static_cast<double>(count);
  }
  return std::nullopt;
}

}  // namespace

void add_accuracy_losses(std::vector<PointSummary>& points) {
  std::map<SampleKey, std::vector<const PointSummary*>> references;
  for (const PointSummary& point : points) {
    const MetricSummary* accuracy = point.find("accuracy_top1");
    if (accuracy != nullptr && point.point.precision == Precision::fp32) references[samples_of(point, *accuracy)].push_back(&point);
  }
  for (PointSummary& point : points) {
    const MetricSummary* accuracy = point.find("accuracy_top1");
    if (accuracy == nullptr) continue;
    const auto found = references.find(samples_of(point, *accuracy));
    if (found == references.end()) continue;
    const double loss = *reference_for(point, found->second) - accuracy->estimate.value;
    point.metrics["accuracy_loss"] = {{loss, {}, {}, accuracy->estimate.n}, {loss, 0, 0, accuracy->estimate.n}, false};
  }
}

}  // namespace deepgap
