// The axes of a study that `deepgap run` has flags for, and what its help says of all others.
#pragma once

#include "cli/axis_flags.h"

#include <deepgap/backend.h>

#include <span>
#include <string>

namespace deepgap {

std::span<const AxisFlag> run_axes();
// "max_batch" for "--max-batch".
std::string axis_of_flag(std::string flag);
// "--max-batch" for "max_batch".
std::string flag_of_axis(std::string axis);
// Returns how a field of a Point, or an option of deepgap or of the rules of a run, is declared; nullptr for those of engines and
// scenarios.
const OptionInfo* axis_info(const std::string& axis);
// Returns help on --axis: what it takes besides the options of a backend and a scenario, and the scenarios with theirs.
std::string axis_help();

}  // namespace deepgap
