// The mark on a Point that `deepgap tune` measured: an option with the stage of its search, "search" or "confirm".
#pragma once

#include <deepgap/point.h>

#include <string>
#include <utility>

namespace deepgap {

inline constexpr const char* tuning_mark = "tune_run";

// Stores of version 1 call the mark `tune`, which is also an option of native: the values distinguish them.
inline Point with_tuning_mark(Point point) {
  const auto found = point.options.find("tune");
  if (found == point.options.end() || (found->second != "search" && found->second != "confirm")) return point;
  point.options.emplace(tuning_mark, std::move(found->second));
  point.options.erase(found);
  return point;
}

}  // namespace deepgap
