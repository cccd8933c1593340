// A LayerProfile beside the machine's ceilings: what `deepgap profile` shows, before it is text.
#pragma once

#include "ceilings/roofline.h"
#include "profile/layer_profile.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct ProfileRow {
  std::string name, operators;  // operators: of its nodes, or what the engine calls a layer of its own
  int layers = 1;               // of a group
  double seconds = 0;
  double share = 0;                             // of the whole
  std::optional<double> flop_per_s, bytes;      // where they are known
  std::optional<double> roof_seconds, of_roof;  // the least time, and that over the time it took
  std::string bound;                            // compute, cache, memory; empty: not known, or nothing to do
};

struct ProfileRows {
  std::vector<ProfileRow> layers, groups;  // in order of execution; by the engine's name of the operator, slowest first
  ProfileRow all;                          // sum of the layers
  double whole_seconds = 0;
  double between_seconds = 0;                          // whole less layers; negative where taking times costs more than what is between
  double copied_seconds = 0;                           // of these: copies between host and device, of inputs and outputs; 0: none were seen
  std::vector<std::pair<std::string, double>> bounds;  // share of the layers' time by what bounds them, largest first
  std::vector<std::string> notes;                      // what a reader should know before believing it
};

// "12.3 %", as every share in a table of a profile is written: always one decimal.
std::string share_text(double share);

// `ceilings` may be empty: then roofs and bounds are. `last_cache_bytes`: what is larger is bound by memory, what is not by a cache; of a
// GPU its ceilings tell that.
ProfileRows profile_rows(const LayerProfile& profile, const Ceilings& ceilings, const std::string& precision, int64_t last_cache_bytes);

}  // namespace deepgap
