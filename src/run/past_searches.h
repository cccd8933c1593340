// Runs of earlier searches out of a Store, as `--resume` gives them to a search instead of running again.
#pragma once

#include "run/inspected_plan.h"
#include "store/store.h"

#include <map>
#include <optional>
#include <string>

namespace deepgap {

using PastSearches = std::map<JobId, Record>;
// The latest Record of each, without timings and series; interrupted ones are left out. With `study` those of other studies are too.
PastSearches read_past_searches(const Store& store, const std::optional<std::string>& study);

}  // namespace deepgap
