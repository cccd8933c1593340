// Runs `deepgap run --profile` when everything has been timed: a profile of each Point that ran, into the Store beside one Record.
#pragma once

#include "run/run_study.h"

#include <cstddef>

namespace deepgap {

struct ProfiledPoints {
  size_t taken = 0;
  size_t had = 0;  // that had one before
};
// Each in a child process of its own, so that neither an engine that is watched nor the time it takes touches a run that is timed. A
// failure is a line on stderr and no profile. Throws Error{store} where the Store cannot be written.
ProfiledPoints profile_points(const RunReport& report, const RunSettings& settings);

}  // namespace deepgap
