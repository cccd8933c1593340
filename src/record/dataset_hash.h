// The hash of a Point's samples, if they are files: an option that the inspection sets, as it sets `model_hash`, so that a changed dataset
// is another Point and a copy of it at another path is the same.
#pragma once

#include <deepgap/point.h>

namespace deepgap {

inline constexpr const char* dataset_hash_option = "dataset_hash";

// Removes the hash for labels: a reader of one run, or one machine, knows a dataset by its name.
inline Point without_dataset_hash(Point point) {
  point.options.erase(dataset_hash_option);
  return point;
}

inline bool has_dataset_hash(const Point& point) { return point.options.contains(dataset_hash_option); }

}  // namespace deepgap
