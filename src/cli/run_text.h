// Prints what `deepgap run` measured, for people and as JSON. Pure functions.
#pragma once

#include "run/run_study.h"

#include <cstddef>
#include <string>
#include <vector>

namespace deepgap {

// The table of its Points, at most `width` columns wide (0: as wide as it is) and with columns for `percentiles`, then what tenants, duels
// and a peak search found, and what failed. Empty where there is no Point.
std::string run_text(const RunReport& report, const RunSettings& settings, size_t width, const std::vector<double>& percentiles);
std::string run_json(const RunReport& report, const RunSettings& settings, int exit_code);
// The last words: which engine is the fastest of each model, and why that is open: the machine, if it was busy.
std::string winners_text(const RunReport& report, size_t width);
// Returns whether other processes of this machine can be the reason of what this run measured: not where it measured nothing, not where a
// server answers, which may be one of them, and not in virtual time, in which nothing waits for a CPU.
bool may_be_disturbed(const RunReport& report);

}  // namespace deepgap
