// The axes of a study that `deepgap run` has flags for, and what its help says of all others.
#pragma once

#include "cli/axis_flags.h"

#include <span>
#include <string>

namespace deepgap {

std::span<const AxisFlag> run_axes();
// Returns help on --axis: what it takes besides the options of a backend and a scenario, and the scenarios with theirs.
std::string axis_help();

}  // namespace deepgap
