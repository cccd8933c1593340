// Options that say of a Point which run of a search it was, "search" or "confirm", and nothing of what was measured: `peak`, of a peak
// search, and the mark of tuning.
#pragma once

#include "record/tuning_mark.h"

#include <algorithm>
#include <array>

namespace deepgap {

inline constexpr std::array<const char*, 2> search_marks{"peak", tuning_mark};

inline bool is_search_run(const Point& point) {
  return std::any_of(search_marks.begin(), search_marks.end(), [&](const char* mark) { return point.options.contains(mark); });
}

inline Point without_search_marks(Point point) {
  for (const char* mark : search_marks) point.options.erase(mark);
  return point;
}

}  // namespace deepgap
