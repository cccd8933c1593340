// Two profiles of one network, part by part: layers that have nodes of the Graph in common belong to one part, so that engines and versions
// that fuse differently can be held beside each other. Pure.
#pragma once

#include "profile/layer_profile.h"

#include <string>
#include <vector>

namespace deepgap {

struct ProfilePart {
  std::string name;  // its first node and how many more there are; "added by the engine" if the engine added it
  int layers_a = 0, layers_b = 0;
  double seconds_a = 0, seconds_b = 0;  // seconds per batch
};
struct ProfileChange {
  std::vector<ProfilePart> parts;  // by how much they differ, most first
  double whole_a_seconds = 0, whole_b_seconds = 0;
};
ProfileChange profile_change(const LayerProfile& a, const LayerProfile& b);

// Returns a table of at most `top` parts.
std::string profile_change_text(const ProfileChange& change, const std::string& a, const std::string& b, size_t top);

}  // namespace deepgap
