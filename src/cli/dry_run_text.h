// The output of `deepgap run --dry-run`, for people and as JSON. Pure functions.
#pragma once

#include "run/run_study.h"

#include <string>

namespace deepgap {

std::string dry_run_text(const DryRun& plan);
std::string dry_run_json(const DryRun& plan, const std::string& study);

}  // namespace deepgap
