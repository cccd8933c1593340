// A profile as one HTML page that loads nothing: what it says in sentences, the hierarchical roofline, the timeline, the layers that are
// furthest from their bounds. Pure.
#pragma once

#include "profile/show.h"

#include <string>
#include <string_view>

namespace deepgap {

std::string profile_page(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows, const ShownCeilings& machine);

// Returns the profile in short, without a heading, for a page that has profile_style(): the roofline of families and its sentences.
std::string profile_part(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows, const ShownCeilings& machine);
std::string_view profile_style();

}  // namespace deepgap
