// Why a network is as fast as it is, in sentences with their evidence, from its profile beside the ceilings. Pure.
#pragma once

#include "profile/rows.h"
#include "profile/show.h"

#include <string>
#include <vector>

namespace deepgap {

struct Explanation {
  std::string id;        // "memory_bound", "launch_bound", ...
  std::string head;      // the sentence
  std::string evidence;  // the figures that it stands on
};

// Returns the weightiest explanation first; none if nothing is known beside the times.
std::vector<Explanation> explain(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows,
                                 const ShownCeilings& machine);

// A layer that is far from its bound, and what reaching it would gain.
struct Distance {
  size_t layer = 0;    // in ProfileRows::layers
  double seconds = 0;  // beyond its bound
  double share = 0;    // share of the whole time
};
// Returns at most `most` layers, the largest distance first.
std::vector<Distance> largest_distances(const ProfileRows& rows, size_t most);

// Returns whether a kernel uses tensor cores by its name; false says nothing about kernels with names of their own.
bool names_tensor_cores(const std::string& kernel);

}  // namespace deepgap
