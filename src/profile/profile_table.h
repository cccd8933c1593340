// Kept profiles as rows for other programs: `deepgap export --profile`. Pure functions.
#pragma once

#include "profile/stored_profile.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

// Names the owner of a profile.
struct ProfileOwner {
  std::string record_id, point_id, model, backend;
};

std::string profile_table_header();
// Returns a line for each layer in order of execution; what is not known is empty.
std::string profile_table_rows(const ProfileOwner& owner, const StoredProfile& stored);
// Returns what `deepgap profile --json` prints, with the owner; `kept`: the profile as a Store keeps it, from which all of that follows.
nlohmann::json owned_profile_json(const ProfileOwner& owner, const StoredProfile& stored);

}  // namespace deepgap
