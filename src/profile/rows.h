// A LayerProfile beside the machine's ceilings: what `deepgap profile` shows, before it is text.
#pragma once

#include "ceilings/roofline.h"
#include "profile/layer_profile.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct ProfileRow {
  std::string name, operators;  // operators: those of its nodes, or what the engine calls a layer of its own
  int layers = 1;               // layers in a group
  double seconds = 0;
  double share = 0;                             // share of the whole time
  std::optional<double> flop_per_s, bytes;      // where they are known
  std::optional<double> roof_seconds, of_roof;  // the least time, and that over the time it took
  std::string bound;                            // compute, cache, memory; empty: not known, or nothing to do
};

struct ProfileRows {
  std::vector<ProfileRow> layers, groups;  // in order of execution; by the engine's name of the operator, slowest first
  ProfileRow all;                          // sum of the layers
  double whole_seconds = 0;
  double between_seconds = 0;                          // whole less layers; negative where taking times costs more than what is between
  double copied_seconds = 0;                           // part of them: copies of inputs and outputs between host and device; 0: none
  std::vector<std::pair<std::string, double>> bounds;  // share of the layers' time by what bounds them, largest first
  std::vector<std::string> notes;                      // notes that a reader should know before believing the numbers
};

// Returns "12.3 %", as every share in a table of a profile is written: always one decimal.
std::string share_text(double share);

// `ceilings` may be empty; then roofs and bounds are empty too. `last_cache_bytes`: memory bounds what is larger, a cache bounds what is
// not; a GPU's ceilings hold this size themselves.
ProfileRows profile_rows(const LayerProfile& profile, const Ceilings& ceilings, const std::string& precision, int64_t last_cache_bytes);

}  // namespace deepgap
