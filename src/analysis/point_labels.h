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
  // Of several sides that are compared: what tells the Points of one apart. In what one side differs from another is its heading's to say.
  explicit PointLabels(std::span<const Side> sides);

  std::string of(const PointSummary& point) const;

 private:
  void look_at(const Side& side);
  std::string whole(const PointSummary& point, const std::set<std::string>& shown) const;

  DeviceNames devices_;
  std::set<std::string> shown_;
};

// "batch 8"; of a published row that does not tell, "no batch told".
std::string batch_words(const Point& point);

}  // namespace deepgap
