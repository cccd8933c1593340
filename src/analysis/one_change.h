// Lines of a Workload that are alike but for one thing (precision, threads), on the same device: what a Finding about that thing compares.
#pragma once

#include "analysis/lines.h"

#include <map>
#include <string>
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

}  // namespace deepgap
