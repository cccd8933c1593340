// A profile as one HTML page that loads nothing: what it says in sentences, the hierarchical roofline, the timeline, the layers that are
// furthest from their bounds. Pure.
#pragma once

#include "profile/show.h"

#include <string>

namespace deepgap {

std::string profile_page(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows, const ShownCeilings& machine);

}  // namespace deepgap
