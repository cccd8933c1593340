// --baseline SELECTION, for commands that read Stores.
#pragma once

#include "analysis/point_summary.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace deepgap {

void declare_baseline(CLI::App& app, std::string& selection);

// Gives the points their ratios to the baseline, where one is named, and what several devices give over one. Throws Error{usage} for what
// is no selection, and where it holds for no usable point.
void compare_with_baseline(const std::string& selection, std::vector<PointSummary>& points);

}  // namespace deepgap
