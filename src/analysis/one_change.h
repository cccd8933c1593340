// Lines of a Workload that are alike but for one thing (precision, threads): what a Finding about that thing compares.
#pragma once

#include "analysis/lines.h"

#include <map>
#include <string>
#include <vector>

namespace deepgap {

// Groups Lines whose keys are equal after `forget` has wiped the one thing; groups of one are left out. In order of the Lines.
template <typename Forget>
std::vector<std::vector<const Line*>> lines_alike_but(const Workload& workload, Forget forget) {
  std::map<Point, std::vector<const Line*>> groups;
  for (const Line& line : workload.lines) {
    Point key = line.key;
    forget(key);
    groups[key].push_back(&line);
  }
  std::vector<std::vector<const Line*>> found;
  for (auto& [key, lines] : groups) {
    if (lines.size() > 1) found.push_back(std::move(lines));
  }
  return found;
}

}  // namespace deepgap
