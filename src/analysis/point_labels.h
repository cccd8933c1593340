// Labels of Points that stand side by side, in rows, lists and sentences: model, backend, device, precision and batch, and of all else what
// some that agree in these differ in: "resnet50 · native · server · rate=20 · batch 8". What all have in common is left out.
#pragma once

#include "analysis/aspects.h"
#include "analysis/point_summary.h"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class PointLabels {
 public:
  using Side = std::vector<const PointSummary*>;

  explicit PointLabels(std::span<const PointSummary> points);
  // Labels several sides that are compared, by what distinguishes the Points of one. The heading says how one side differs from another.
  explicit PointLabels(std::span<const Side> sides);

  std::string of(const PointSummary& point) const;

 private:
  void look_at(const Side& side);
  std::string whole(const PointSummary& point, const std::set<std::string>& shown) const;

  DeviceNames devices_;
  std::set<std::string> shown_;
};

// Returns "batch 8"; for a published row without a batch, "no batch told".
std::string batch_words(const Point& point);

}  // namespace deepgap
