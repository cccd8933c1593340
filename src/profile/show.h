// Writes the output of `deepgap profile`: tables for people, an object for programs.
#pragma once

#include "profile/rows.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

struct ProfileHeader {
  std::string model, precision;
  int64_t batch = 1;
  int threads = 1;
  std::string device = "cpu";  // "cuda:0"
};

struct ShownCeilings {
  Ceilings ceilings;
  bool measured = false;     // now, not before
  std::string missing = {};  // why there are none, in words
};

// Returns lines of at most `width` columns if names can be cut; `top` slowest layers, slowest first; 0: all, in order of execution.
std::string profile_text(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows, const ShownCeilings& machine,
                         size_t width, size_t top);
nlohmann::json profile_json(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows,
                            const ShownCeilings& machine);

// Returns the data sheet's values beside the measured ones; null if no sheet is known.
nlohmann::json data_sheet_json(const Ceilings& ceilings);

}  // namespace deepgap
