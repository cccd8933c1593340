// Lines of a Workload that are alike but for one thing (precision, threads), on the same device: what a Finding about that thing compares.
#pragma once

#include "analysis/lines.h"

#include <map>
#include <optional>
#include <vector>

namespace deepgap {

// Groups Lines whose keys are equal after `forget` has wiped the one thing; groups of one are left out. In order of the Lines.
template <typename Forget>
std::vector<std::vector<const Line*>> lines_alike_but(const Workload& workload, Forget forget) {
  std::map<PointOnDevice, std::vector<const Line*>> groups;
  for (const Line& line : workload.lines) {
    PointOnDevice key = line.on_device();
    forget(key.point);
    groups[key].push_back(&line);
  }
  std::vector<std::vector<const Line*>> found;
  for (auto& [key, lines] : groups) {
    if (lines.size() > 1) found.push_back(std::move(lines));
  }
  return found;
}

struct PairOfPoints {
  const PointSummary *one, *other;
};
// The largest batch at which both ran; nullopt where there is none, and of candidates of a peak search.
inline std::optional<PairOfPoints> at_common_batch(const Line& one, const Line& other) {
  if (one.is_candidate()) return std::nullopt;
  for (auto point = one.points.rbegin(); point != one.points.rend(); ++point) {
    const PointSummary* beside = other.at_batch((*point)->point.batch);
    if ((*point)->usable() && beside != nullptr) return PairOfPoints{*point, beside};
  }
  return std::nullopt;
}

}  // namespace deepgap
