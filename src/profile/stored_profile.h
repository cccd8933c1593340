// A profile as a Store keeps it beside a Record: what was taken, and the ceilings of that machine at that time, so that it can be shown
// elsewhere and later. It does not repeat what the Record holds (the model and where it lies). Plain data.
#pragma once

#include "profile/show.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace deepgap {

struct StoredProfile {
  int64_t taken_unix_ns = 0;
  ProfileHeader header;  // its model is empty until a reader fills it in
  LayerProfile profile;
  ShownCeilings machine;
  int64_t last_cache_bytes = 0;

  ProfileRows rows() const { return profile_rows(profile, machine.ceilings, header.precision, last_cache_bytes); }
};

std::string stored_profile_text(const StoredProfile& stored);
StoredProfile parse_stored_profile(std::string_view text);  // throws Error{input}: damaged, or of a newer version

}  // namespace deepgap
