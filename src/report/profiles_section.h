// Profiles that `run --profile` kept, in a report: of some Points the roofline and what it says, of all of them a line. Pure.
#pragma once

#include "profile/stored_profile.h"

#include <string>
#include <vector>

namespace deepgap {

// A line of the table.
struct ProfileLine {
  std::string label;  // label of the Point
  double whole_seconds = 0;
  std::optional<double> between_share, of_roof;  // not of a step of training
  std::string bound;                             // the largest, with its share: "memory 71 %"
  std::string slowest;                           // the operator with the most time, with its share
};
ProfileLine profile_line(const std::string& label, const StoredProfile& stored);

struct ReportProfiles {
  std::vector<ProfileLine> lines;
  std::vector<std::pair<std::string, StoredProfile>> drawn;  // by label
};
std::string profiles_section(const ReportProfiles& profiles);

}  // namespace deepgap
